# bash completion for kafkabal. Generated: change the commands, then run  python -m tools.reference
# Topics and brokers come from files that every command refreshes: no cluster is asked, no Python is started.

_kafkabal_names() {
    cat "${XDG_CACHE_HOME:-$HOME/.cache}/kafkabal/$1" 2>/dev/null
}

_kafkabal() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=kafkabal words= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$command ${COMP_WORDS[i]}" in
            "kafkabal inspect" | \
            "kafkabal create" | \
            "kafkabal produce" | \
            "kafkabal read" | \
            "kafkabal rebalance" | \
            "kafkabal rebalance plan" | \
            "kafkabal rebalance explain" | \
            "kafkabal rebalance show" | \
            "kafkabal rebalance diff" | \
            "kafkabal rebalance apply" | \
            "kafkabal rebalance status" | \
            "kafkabal rebalance resume" | \
            "kafkabal rebalance cancel" | \
            "kafkabal rebalance rollback" | \
            "kafkabal rebalance repair" | \
            "kafkabal rebalance history" | \
            "kafkabal rebalance throttle" | \
            "kafkabal watch" | \
            "kafkabal sandbox" | \
            "kafkabal sandbox up" | \
            "kafkabal sandbox status" | \
            "kafkabal sandbox logs" | \
            "kafkabal sandbox kill" | \
            "kafkabal sandbox pause" | \
            "kafkabal sandbox start" | \
            "kafkabal sandbox stop" | \
            "kafkabal sandbox down" | \
            "kafkabal demo" | \
            "kafkabal route-simulate" | \
            "kafkabal policies" | \
            "kafkabal scores" | \
            "kafkabal telemetry" | \
            "kafkabal telemetry subscribe" | \
            "kafkabal telemetry list" | \
            "kafkabal telemetry remove" | \
            "kafkabal telemetry plugin" | \
            "kafkabal telemetry latency" | \
            "kafkabal completion")
                command="$command ${COMP_WORDS[i]}" ;;
        esac
    done
    case "$command $previous" in
        "kafkabal inspect --by") COMPREPLY=($(compgen -W "broker log-dir rack topic partition" -- "$current")); return ;;
        "kafkabal inspect --top") return ;;
        "kafkabal inspect --sample") return ;;
        "kafkabal inspect --watch") return ;;
        "kafkabal inspect --save") return ;;
        "kafkabal inspect -b" | "kafkabal inspect --bootstrap-server") return ;;
        "kafkabal inspect --command-config") return ;;
        "kafkabal inspect --profile") return ;;
        "kafkabal inspect --snapshot") return ;;
        "kafkabal inspect --zookeeper") return ;;
        "kafkabal inspect --broker-timeout") return ;;
        "kafkabal inspect --score") COMPREPLY=($(compgen -W "disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" -- "$current")); return ;;
        "kafkabal inspect --tolerance") return ;;
        "kafkabal inspect -o" | "kafkabal inspect --output") COMPREPLY=($(compgen -W "table json yaml csv markdown prometheus" -- "$current")); return ;;
        "kafkabal inspect --output-file") return ;;
        "kafkabal inspect -w" | "kafkabal inspect --warning") return ;;
        "kafkabal inspect -c" | "kafkabal inspect --critical") return ;;
        "kafkabal inspect --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal create --placement") return ;;
        "kafkabal create -b" | "kafkabal create --bootstrap-server") return ;;
        "kafkabal create --command-config") return ;;
        "kafkabal create --profile") return ;;
        "kafkabal create --snapshot") return ;;
        "kafkabal create --zookeeper") return ;;
        "kafkabal create --broker-timeout") return ;;
        "kafkabal create --score") COMPREPLY=($(compgen -W "disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" -- "$current")); return ;;
        "kafkabal create --tolerance") return ;;
        "kafkabal create --exclude-brokers") COMPREPLY=($(compgen -W "$(_kafkabal_names brokers)" -- "$current")); return ;;
        "kafkabal create -o" | "kafkabal create --output") COMPREPLY=($(compgen -W "table json yaml csv" -- "$current")); return ;;
        "kafkabal create --output-file") return ;;
        "kafkabal create -p" | "kafkabal create --partitions") return ;;
        "kafkabal create -r" | "kafkabal create --replication-factor") return ;;
        "kafkabal create --preset") return ;;
        "kafkabal create --config") return ;;
        "kafkabal create --partition-bytes") return ;;
        "kafkabal create -f" | "kafkabal create --file") return ;;
        "kafkabal create --save") return ;;
        "kafkabal create --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal produce -b" | "kafkabal produce --bootstrap-server") return ;;
        "kafkabal produce --command-config") return ;;
        "kafkabal produce --profile") return ;;
        "kafkabal produce --score") COMPREPLY=($(compgen -W "disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" -- "$current")); return ;;
        "kafkabal produce -o" | "kafkabal produce --output") COMPREPLY=($(compgen -W "table json yaml csv" -- "$current")); return ;;
        "kafkabal produce --output-file") return ;;
        "kafkabal produce --format") return ;;
        "kafkabal produce --key") return ;;
        "kafkabal produce --value") return ;;
        "kafkabal produce --chunk") return ;;
        "kafkabal produce --read-ahead") return ;;
        "kafkabal produce --policy") COMPREPLY=($(compgen -W "random round-robin key-hash default sticky uniform-sticky adaptive join-idle-queue c3 prequal score smooth-weighted astraea rack-local power-of-d least-loaded pkg d-choices w-choices bounded-load" -- "$current")); return ;;
        "kafkabal produce --refresh") return ;;
        "kafkabal produce --producer-config") return ;;
        "kafkabal produce --manifest") return ;;
        "kafkabal produce --telemetry") return ;;
        "kafkabal produce --prometheus") return ;;
        "kafkabal produce --prometheus-query") return ;;
        "kafkabal produce --prometheus-label") return ;;
        "kafkabal produce --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal read -b" | "kafkabal read --bootstrap-server") return ;;
        "kafkabal read --command-config") return ;;
        "kafkabal read --profile") return ;;
        "kafkabal read -o" | "kafkabal read --output") COMPREPLY=($(compgen -W "table json yaml csv" -- "$current")); return ;;
        "kafkabal read --output-file") return ;;
        "kafkabal read --to") return ;;
        "kafkabal read --for") return ;;
        "kafkabal read --rack") return ;;
        "kafkabal read --readers") return ;;
        "kafkabal read --prefetch") return ;;
        "kafkabal read --cache") return ;;
        "kafkabal read --cache-bytes") return ;;
        "kafkabal read --out") return ;;
        "kafkabal read --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance -b" | "kafkabal rebalance --bootstrap-server") return ;;
        "kafkabal rebalance --command-config") return ;;
        "kafkabal rebalance --profile") return ;;
        "kafkabal rebalance --snapshot") return ;;
        "kafkabal rebalance --zookeeper") return ;;
        "kafkabal rebalance --broker-timeout") return ;;
        "kafkabal rebalance --bootstrap-controller") return ;;
        "kafkabal rebalance --score") COMPREPLY=($(compgen -W "disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" -- "$current")); return ;;
        "kafkabal rebalance --tolerance") return ;;
        "kafkabal rebalance --max-bytes") return ;;
        "kafkabal rebalance --max-moves") return ;;
        "kafkabal rebalance --max-leader-changes") return ;;
        "kafkabal rebalance --max-duration") return ;;
        "kafkabal rebalance --topics") COMPREPLY=($(compgen -W "$(_kafkabal_names topics)" -- "$current")); return ;;
        "kafkabal rebalance --exclude-topics") COMPREPLY=($(compgen -W "$(_kafkabal_names topics)" -- "$current")); return ;;
        "kafkabal rebalance --exclude-brokers") COMPREPLY=($(compgen -W "$(_kafkabal_names brokers)" -- "$current")); return ;;
        "kafkabal rebalance --dead-after") return ;;
        "kafkabal rebalance --throttle") return ;;
        "kafkabal rebalance --log-dir-throttle") return ;;
        "kafkabal rebalance --window") return ;;
        "kafkabal rebalance --drain") COMPREPLY=($(compgen -W "$(_kafkabal_names brokers)" -- "$current")); return ;;
        "kafkabal rebalance --below") return ;;
        "kafkabal rebalance --broker-limit") return ;;
        "kafkabal rebalance --keep-moved") return ;;
        "kafkabal rebalance --replication-factor") return ;;
        "kafkabal rebalance --allow") COMPREPLY=($(compgen -W "other-reassignments recently-dead offline-partitions under-replicated replication-factor rack-spread closed-target throttle" -- "$current")); return ;;
        "kafkabal rebalance --on-unfinished") COMPREPLY=($(compgen -W "resume refuse" -- "$current")); return ;;
        "kafkabal rebalance --rollback-file") return ;;
        "kafkabal rebalance --on-interrupt") COMPREPLY=($(compgen -W "cancel finish detach" -- "$current")); return ;;
        "kafkabal rebalance --max-runtime") return ;;
        "kafkabal rebalance --moves-per-broker") return ;;
        "kafkabal rebalance -o" | "kafkabal rebalance --output") COMPREPLY=($(compgen -W "table json jsonl" -- "$current")); return ;;
        "kafkabal rebalance --textfile") return ;;
        "kafkabal rebalance --save") return ;;
        "kafkabal rebalance --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance plan --out") return ;;
        "kafkabal rebalance plan --what-if") return ;;
        "kafkabal rebalance plan -b" | "kafkabal rebalance plan --bootstrap-server") return ;;
        "kafkabal rebalance plan --command-config") return ;;
        "kafkabal rebalance plan --profile") return ;;
        "kafkabal rebalance plan --snapshot") return ;;
        "kafkabal rebalance plan --zookeeper") return ;;
        "kafkabal rebalance plan --broker-timeout") return ;;
        "kafkabal rebalance plan --score") COMPREPLY=($(compgen -W "disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" -- "$current")); return ;;
        "kafkabal rebalance plan --tolerance") return ;;
        "kafkabal rebalance plan --max-bytes") return ;;
        "kafkabal rebalance plan --max-moves") return ;;
        "kafkabal rebalance plan --max-leader-changes") return ;;
        "kafkabal rebalance plan --max-duration") return ;;
        "kafkabal rebalance plan --topics") COMPREPLY=($(compgen -W "$(_kafkabal_names topics)" -- "$current")); return ;;
        "kafkabal rebalance plan --exclude-topics") COMPREPLY=($(compgen -W "$(_kafkabal_names topics)" -- "$current")); return ;;
        "kafkabal rebalance plan --exclude-brokers") COMPREPLY=($(compgen -W "$(_kafkabal_names brokers)" -- "$current")); return ;;
        "kafkabal rebalance plan --dead-after") return ;;
        "kafkabal rebalance plan --count-capacity") return ;;
        "kafkabal rebalance plan --throttle") return ;;
        "kafkabal rebalance plan --drain") COMPREPLY=($(compgen -W "$(_kafkabal_names brokers)" -- "$current")); return ;;
        "kafkabal rebalance plan --below") return ;;
        "kafkabal rebalance plan --broker-limit") return ;;
        "kafkabal rebalance plan --keep-moved") return ;;
        "kafkabal rebalance plan --replication-factor") return ;;
        "kafkabal rebalance plan -o" | "kafkabal rebalance plan --output") COMPREPLY=($(compgen -W "table json yaml csv markdown" -- "$current")); return ;;
        "kafkabal rebalance plan --output-file") return ;;
        "kafkabal rebalance plan --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance explain -b" | "kafkabal rebalance explain --bootstrap-server") return ;;
        "kafkabal rebalance explain --command-config") return ;;
        "kafkabal rebalance explain --profile") return ;;
        "kafkabal rebalance explain --snapshot") return ;;
        "kafkabal rebalance explain --zookeeper") return ;;
        "kafkabal rebalance explain --broker-timeout") return ;;
        "kafkabal rebalance explain --score") COMPREPLY=($(compgen -W "disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" -- "$current")); return ;;
        "kafkabal rebalance explain --tolerance") return ;;
        "kafkabal rebalance explain --max-bytes") return ;;
        "kafkabal rebalance explain --max-moves") return ;;
        "kafkabal rebalance explain --max-leader-changes") return ;;
        "kafkabal rebalance explain --max-duration") return ;;
        "kafkabal rebalance explain --topics") COMPREPLY=($(compgen -W "$(_kafkabal_names topics)" -- "$current")); return ;;
        "kafkabal rebalance explain --exclude-topics") COMPREPLY=($(compgen -W "$(_kafkabal_names topics)" -- "$current")); return ;;
        "kafkabal rebalance explain --exclude-brokers") COMPREPLY=($(compgen -W "$(_kafkabal_names brokers)" -- "$current")); return ;;
        "kafkabal rebalance explain --dead-after") return ;;
        "kafkabal rebalance explain --count-capacity") return ;;
        "kafkabal rebalance explain --drain") COMPREPLY=($(compgen -W "$(_kafkabal_names brokers)" -- "$current")); return ;;
        "kafkabal rebalance explain --below") return ;;
        "kafkabal rebalance explain --broker-limit") return ;;
        "kafkabal rebalance explain --keep-moved") return ;;
        "kafkabal rebalance explain --replication-factor") return ;;
        "kafkabal rebalance explain -o" | "kafkabal rebalance explain --output") COMPREPLY=($(compgen -W "table json yaml" -- "$current")); return ;;
        "kafkabal rebalance explain --output-file") return ;;
        "kafkabal rebalance explain --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance show -o" | "kafkabal rebalance show --output") COMPREPLY=($(compgen -W "table json yaml csv markdown" -- "$current")); return ;;
        "kafkabal rebalance show --output-file") return ;;
        "kafkabal rebalance show --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance diff -o" | "kafkabal rebalance diff --output") COMPREPLY=($(compgen -W "table json yaml csv markdown" -- "$current")); return ;;
        "kafkabal rebalance diff --output-file") return ;;
        "kafkabal rebalance diff --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance apply -b" | "kafkabal rebalance apply --bootstrap-server") return ;;
        "kafkabal rebalance apply --command-config") return ;;
        "kafkabal rebalance apply --profile") return ;;
        "kafkabal rebalance apply --snapshot") return ;;
        "kafkabal rebalance apply --zookeeper") return ;;
        "kafkabal rebalance apply --broker-timeout") return ;;
        "kafkabal rebalance apply --bootstrap-controller") return ;;
        "kafkabal rebalance apply --throttle") return ;;
        "kafkabal rebalance apply --log-dir-throttle") return ;;
        "kafkabal rebalance apply --window") return ;;
        "kafkabal rebalance apply --dead-after") return ;;
        "kafkabal rebalance apply --allow") COMPREPLY=($(compgen -W "other-reassignments recently-dead offline-partitions under-replicated replication-factor rack-spread closed-target throttle" -- "$current")); return ;;
        "kafkabal rebalance apply --on-unfinished") COMPREPLY=($(compgen -W "resume refuse" -- "$current")); return ;;
        "kafkabal rebalance apply --rollback-file") return ;;
        "kafkabal rebalance apply --on-interrupt") COMPREPLY=($(compgen -W "cancel finish detach" -- "$current")); return ;;
        "kafkabal rebalance apply --max-runtime") return ;;
        "kafkabal rebalance apply --moves-per-broker") return ;;
        "kafkabal rebalance apply -o" | "kafkabal rebalance apply --output") COMPREPLY=($(compgen -W "table json jsonl" -- "$current")); return ;;
        "kafkabal rebalance apply --textfile") return ;;
        "kafkabal rebalance apply --save") return ;;
        "kafkabal rebalance apply --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance status --journal") return ;;
        "kafkabal rebalance status -b" | "kafkabal rebalance status --bootstrap-server") return ;;
        "kafkabal rebalance status --command-config") return ;;
        "kafkabal rebalance status --profile") return ;;
        "kafkabal rebalance status --snapshot") return ;;
        "kafkabal rebalance status --zookeeper") return ;;
        "kafkabal rebalance status --broker-timeout") return ;;
        "kafkabal rebalance status -o" | "kafkabal rebalance status --output") COMPREPLY=($(compgen -W "table json yaml" -- "$current")); return ;;
        "kafkabal rebalance status --output-file") return ;;
        "kafkabal rebalance status --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance resume --journal") return ;;
        "kafkabal rebalance resume -b" | "kafkabal rebalance resume --bootstrap-server") return ;;
        "kafkabal rebalance resume --command-config") return ;;
        "kafkabal rebalance resume --profile") return ;;
        "kafkabal rebalance resume --snapshot") return ;;
        "kafkabal rebalance resume --zookeeper") return ;;
        "kafkabal rebalance resume --broker-timeout") return ;;
        "kafkabal rebalance resume --bootstrap-controller") return ;;
        "kafkabal rebalance resume --throttle") return ;;
        "kafkabal rebalance resume --log-dir-throttle") return ;;
        "kafkabal rebalance resume --window") return ;;
        "kafkabal rebalance resume --on-interrupt") COMPREPLY=($(compgen -W "cancel finish detach" -- "$current")); return ;;
        "kafkabal rebalance resume --max-runtime") return ;;
        "kafkabal rebalance resume --moves-per-broker") return ;;
        "kafkabal rebalance resume -o" | "kafkabal rebalance resume --output") COMPREPLY=($(compgen -W "table json jsonl" -- "$current")); return ;;
        "kafkabal rebalance resume --textfile") return ;;
        "kafkabal rebalance resume --save") return ;;
        "kafkabal rebalance resume --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance cancel --journal") return ;;
        "kafkabal rebalance cancel -b" | "kafkabal rebalance cancel --bootstrap-server") return ;;
        "kafkabal rebalance cancel --command-config") return ;;
        "kafkabal rebalance cancel --profile") return ;;
        "kafkabal rebalance cancel --snapshot") return ;;
        "kafkabal rebalance cancel --zookeeper") return ;;
        "kafkabal rebalance cancel --broker-timeout") return ;;
        "kafkabal rebalance cancel --bootstrap-controller") return ;;
        "kafkabal rebalance cancel -o" | "kafkabal rebalance cancel --output") COMPREPLY=($(compgen -W "table json jsonl" -- "$current")); return ;;
        "kafkabal rebalance cancel --textfile") return ;;
        "kafkabal rebalance cancel --save") return ;;
        "kafkabal rebalance cancel --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance rollback --journal") return ;;
        "kafkabal rebalance rollback -b" | "kafkabal rebalance rollback --bootstrap-server") return ;;
        "kafkabal rebalance rollback --command-config") return ;;
        "kafkabal rebalance rollback --profile") return ;;
        "kafkabal rebalance rollback --snapshot") return ;;
        "kafkabal rebalance rollback --zookeeper") return ;;
        "kafkabal rebalance rollback --broker-timeout") return ;;
        "kafkabal rebalance rollback --bootstrap-controller") return ;;
        "kafkabal rebalance rollback -o" | "kafkabal rebalance rollback --output") COMPREPLY=($(compgen -W "table json jsonl" -- "$current")); return ;;
        "kafkabal rebalance rollback --textfile") return ;;
        "kafkabal rebalance rollback --save") return ;;
        "kafkabal rebalance rollback --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance repair --journal") return ;;
        "kafkabal rebalance repair -b" | "kafkabal rebalance repair --bootstrap-server") return ;;
        "kafkabal rebalance repair --command-config") return ;;
        "kafkabal rebalance repair --profile") return ;;
        "kafkabal rebalance repair --snapshot") return ;;
        "kafkabal rebalance repair --zookeeper") return ;;
        "kafkabal rebalance repair --broker-timeout") return ;;
        "kafkabal rebalance repair --bootstrap-controller") return ;;
        "kafkabal rebalance repair -o" | "kafkabal rebalance repair --output") COMPREPLY=($(compgen -W "table json jsonl" -- "$current")); return ;;
        "kafkabal rebalance repair --textfile") return ;;
        "kafkabal rebalance repair --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance history --last") return ;;
        "kafkabal rebalance history -b" | "kafkabal rebalance history --bootstrap-server") return ;;
        "kafkabal rebalance history --command-config") return ;;
        "kafkabal rebalance history --profile") return ;;
        "kafkabal rebalance history --snapshot") return ;;
        "kafkabal rebalance history --zookeeper") return ;;
        "kafkabal rebalance history --broker-timeout") return ;;
        "kafkabal rebalance history -o" | "kafkabal rebalance history --output") COMPREPLY=($(compgen -W "table json yaml csv markdown" -- "$current")); return ;;
        "kafkabal rebalance history --output-file") return ;;
        "kafkabal rebalance history --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal rebalance throttle --log-dir-throttle") return ;;
        "kafkabal rebalance throttle -b" | "kafkabal rebalance throttle --bootstrap-server") return ;;
        "kafkabal rebalance throttle --command-config") return ;;
        "kafkabal rebalance throttle --profile") return ;;
        "kafkabal rebalance throttle --snapshot") return ;;
        "kafkabal rebalance throttle --zookeeper") return ;;
        "kafkabal rebalance throttle --broker-timeout") return ;;
        "kafkabal rebalance throttle --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal watch --every") return ;;
        "kafkabal watch --slow") return ;;
        "kafkabal watch -b" | "kafkabal watch --bootstrap-server") return ;;
        "kafkabal watch --command-config") return ;;
        "kafkabal watch --profile") return ;;
        "kafkabal watch --snapshot") return ;;
        "kafkabal watch --zookeeper") return ;;
        "kafkabal watch --broker-timeout") return ;;
        "kafkabal watch --bootstrap-controller") return ;;
        "kafkabal watch --throttle") return ;;
        "kafkabal watch --tolerance") return ;;
        "kafkabal watch --window") return ;;
        "kafkabal watch --heal") COMPREPLY=($(compgen -W "none leaders all" -- "$current")); return ;;
        "kafkabal watch --dead-after") return ;;
        "kafkabal watch --move-after") return ;;
        "kafkabal watch --max-bytes-per-day") return ;;
        "kafkabal watch --max-actions-per-day") return ;;
        "kafkabal watch --max-dead") return ;;
        "kafkabal watch --rebalance-above") return ;;
        "kafkabal watch -o" | "kafkabal watch --output") COMPREPLY=($(compgen -W "table json jsonl" -- "$current")); return ;;
        "kafkabal watch --textfile") return ;;
        "kafkabal watch --notify") return ;;
        "kafkabal watch --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal sandbox up --name") return ;;
        "kafkabal sandbox up --timeout") return ;;
        "kafkabal sandbox up --brokers") return ;;
        "kafkabal sandbox up --racks") return ;;
        "kafkabal sandbox up --log-dirs") return ;;
        "kafkabal sandbox up --capacity") return ;;
        "kafkabal sandbox up --controllers") return ;;
        "kafkabal sandbox up --kafka-version") return ;;
        "kafkabal sandbox up --replicas") return ;;
        "kafkabal sandbox up --heap") return ;;
        "kafkabal sandbox up --property") return ;;
        "kafkabal sandbox up --broker-property") return ;;
        "kafkabal sandbox up --listener") return ;;
        "kafkabal sandbox up --class-path") return ;;
        "kafkabal sandbox up -o" | "kafkabal sandbox up --output") COMPREPLY=($(compgen -W "table json yaml" -- "$current")); return ;;
        "kafkabal sandbox up --output-file") return ;;
        "kafkabal sandbox up --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal sandbox status --name") return ;;
        "kafkabal sandbox status -o" | "kafkabal sandbox status --output") COMPREPLY=($(compgen -W "table json yaml" -- "$current")); return ;;
        "kafkabal sandbox status --output-file") return ;;
        "kafkabal sandbox status --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal sandbox logs --name") return ;;
        "kafkabal sandbox logs -n" | "kafkabal sandbox logs --lines") return ;;
        "kafkabal sandbox logs --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal sandbox kill --name") return ;;
        "kafkabal sandbox kill --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal sandbox pause --name") return ;;
        "kafkabal sandbox pause --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal sandbox start --name") return ;;
        "kafkabal sandbox start --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal sandbox stop --name") return ;;
        "kafkabal sandbox stop --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal sandbox down --name") return ;;
        "kafkabal sandbox down --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal demo --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal route-simulate --policy") COMPREPLY=($(compgen -W "random round-robin key-hash default sticky uniform-sticky adaptive join-idle-queue c3 prequal score smooth-weighted astraea rack-local power-of-d least-loaded pkg d-choices w-choices bounded-load" -- "$current")); return ;;
        "kafkabal route-simulate --topic") COMPREPLY=($(compgen -W "$(_kafkabal_names topics)" -- "$current")); return ;;
        "kafkabal route-simulate --seeds") return ;;
        "kafkabal route-simulate --plot") return ;;
        "kafkabal route-simulate -b" | "kafkabal route-simulate --bootstrap-server") return ;;
        "kafkabal route-simulate --command-config") return ;;
        "kafkabal route-simulate --profile") return ;;
        "kafkabal route-simulate --snapshot") return ;;
        "kafkabal route-simulate --zookeeper") return ;;
        "kafkabal route-simulate --broker-timeout") return ;;
        "kafkabal route-simulate --score") COMPREPLY=($(compgen -W "disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" -- "$current")); return ;;
        "kafkabal route-simulate -o" | "kafkabal route-simulate --output") COMPREPLY=($(compgen -W "table json yaml csv" -- "$current")); return ;;
        "kafkabal route-simulate --output-file") return ;;
        "kafkabal route-simulate --workload") return ;;
        "kafkabal route-simulate --records") return ;;
        "kafkabal route-simulate --bytes") return ;;
        "kafkabal route-simulate --data") return ;;
        "kafkabal route-simulate --storage") return ;;
        "kafkabal route-simulate --training") return ;;
        "kafkabal route-simulate --rack") return ;;
        "kafkabal route-simulate --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal policies -o" | "kafkabal policies --output") COMPREPLY=($(compgen -W "table json yaml csv" -- "$current")); return ;;
        "kafkabal policies --output-file") return ;;
        "kafkabal policies --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal scores -b" | "kafkabal scores --bootstrap-server") return ;;
        "kafkabal scores --command-config") return ;;
        "kafkabal scores --profile") return ;;
        "kafkabal scores --snapshot") return ;;
        "kafkabal scores --zookeeper") return ;;
        "kafkabal scores --broker-timeout") return ;;
        "kafkabal scores -o" | "kafkabal scores --output") COMPREPLY=($(compgen -W "table json yaml csv" -- "$current")); return ;;
        "kafkabal scores --output-file") return ;;
        "kafkabal scores --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal telemetry subscribe --name") return ;;
        "kafkabal telemetry subscribe --metric") return ;;
        "kafkabal telemetry subscribe --interval") return ;;
        "kafkabal telemetry subscribe --match") return ;;
        "kafkabal telemetry subscribe --topic") COMPREPLY=($(compgen -W "$(_kafkabal_names topics)" -- "$current")); return ;;
        "kafkabal telemetry subscribe -b" | "kafkabal telemetry subscribe --bootstrap-server") return ;;
        "kafkabal telemetry subscribe --command-config") return ;;
        "kafkabal telemetry subscribe --profile") return ;;
        "kafkabal telemetry subscribe --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal telemetry list -b" | "kafkabal telemetry list --bootstrap-server") return ;;
        "kafkabal telemetry list --command-config") return ;;
        "kafkabal telemetry list --profile") return ;;
        "kafkabal telemetry list -o" | "kafkabal telemetry list --output") COMPREPLY=($(compgen -W "table json yaml csv" -- "$current")); return ;;
        "kafkabal telemetry list --output-file") return ;;
        "kafkabal telemetry list --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal telemetry remove -b" | "kafkabal telemetry remove --bootstrap-server") return ;;
        "kafkabal telemetry remove --command-config") return ;;
        "kafkabal telemetry remove --profile") return ;;
        "kafkabal telemetry remove --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal telemetry plugin --libs") return ;;
        "kafkabal telemetry plugin --out") return ;;
        "kafkabal telemetry plugin --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal telemetry latency --topic") COMPREPLY=($(compgen -W "$(_kafkabal_names topics)" -- "$current")); return ;;
        "kafkabal telemetry latency --listen") return ;;
        "kafkabal telemetry latency --for") return ;;
        "kafkabal telemetry latency --last") return ;;
        "kafkabal telemetry latency -b" | "kafkabal telemetry latency --bootstrap-server") return ;;
        "kafkabal telemetry latency --command-config") return ;;
        "kafkabal telemetry latency --profile") return ;;
        "kafkabal telemetry latency -o" | "kafkabal telemetry latency --output") COMPREPLY=($(compgen -W "table json yaml csv" -- "$current")); return ;;
        "kafkabal telemetry latency --output-file") return ;;
        "kafkabal telemetry latency --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        "kafkabal completion --color") COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
    esac
    case "$command" in
        "kafkabal") words="inspect create produce read rebalance watch sandbox demo route-simulate policies scores telemetry completion --version -h --help" ;;
        "kafkabal inspect") words="--by --top --sample --watch --save -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score --tolerance -o --output --output-file --check --nagios -w --warning -c --critical -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal create") words="--placement --if-not-exists --dry-run --yes -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score --tolerance --exclude-brokers -o --output --output-file -p --partitions -r --replication-factor --preset --config --partition-bytes -f --file --save -q --quiet -v --verbose --color --no-color -h --help $(_kafkabal_names topics)" ;;
        "kafkabal produce") words="-b --bootstrap-server --command-config --profile --score -o --output --output-file --format --key --value --chunk --read-ahead --policy --refresh --producer-config --any-key-order --manifest --no-manifest --resend --telemetry --prometheus --prometheus-query --prometheus-label -q --quiet -v --verbose --color --no-color -h --help $(_kafkabal_names topics)" ;;
        "kafkabal read") words="-b --bootstrap-server --command-config --profile -o --output --output-file --to --follow --from-start --for --rack --readers --prefetch --cache --cache-bytes --out -q --quiet -v --verbose --color --no-color -h --help $(_kafkabal_names topics)" ;;
        "kafkabal rebalance") words="plan explain show diff apply status resume cancel rollback repair history throttle --all --check -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --score --tolerance --max-bytes --max-moves --max-leader-changes --max-duration --topics --exclude-topics --exclude-brokers --include-internal --dead-after --throttle --log-dir-throttle --window --drain --repair-only --leaders-only --log-dirs-only --only-to-new --below --broker-limit --keep-moved --replication-factor --yes --dry-run --exit-code --allow --force --on-unfinished --rollback-file --override-throttle --on-interrupt --max-runtime --moves-per-broker --one-replica-at-a-time -o --output --textfile --save -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance plan") words="--out --all --frontier --what-if -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score --tolerance --max-bytes --max-moves --max-leader-changes --max-duration --topics --exclude-topics --exclude-brokers --include-internal --dead-after --count-capacity --throttle --drain --repair-only --leaders-only --log-dirs-only --only-to-new --below --broker-limit --keep-moved --replication-factor -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance explain") words="--why-not -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score --tolerance --max-bytes --max-moves --max-leader-changes --max-duration --topics --exclude-topics --exclude-brokers --include-internal --dead-after --count-capacity --drain --repair-only --leaders-only --log-dirs-only --only-to-new --below --broker-limit --keep-moved --replication-factor -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance show") words="--all -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance diff") words="--all -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance apply") words="--skip-drifted -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --throttle --log-dir-throttle --window --dead-after --yes --dry-run --exit-code --allow --force --on-unfinished --rollback-file --override-throttle --on-interrupt --max-runtime --moves-per-broker --one-replica-at-a-time -o --output --textfile --save -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance status") words="--journal -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance resume") words="--journal --yes -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --throttle --log-dir-throttle --window --override-throttle --on-interrupt --max-runtime --moves-per-broker --one-replica-at-a-time -o --output --textfile --save -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance cancel") words="--journal --yes -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller -o --output --textfile --save -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance rollback") words="--journal --yes -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller -o --output --textfile --save -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance repair") words="--journal --remove -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller -o --output --textfile -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance history") words="--last -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance throttle") words="--log-dir-throttle -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal watch") words="--every --slow --once -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --throttle --tolerance --window --heal --dead-after --move-after --max-bytes-per-day --max-actions-per-day --max-dead --rebalance-above -o --output --textfile --notify -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox") words="up status logs kill pause start stop down -h --help" ;;
        "kafkabal sandbox up") words="--name --timeout --brokers --racks --log-dirs --capacity --controllers --zookeeper --kafka-version --replicas --heap --property --broker-property --listener --class-path -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox status") words="--name -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox logs") words="--name -n --lines -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox kill") words="--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox pause") words="--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox start") words="--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox stop") words="--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox down") words="--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal demo") words="--keep -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal route-simulate") words="--policy --topic --seeds --latency --no-latency --plot -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score -o --output --output-file --workload --records --bytes --data --storage --training --rack -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal policies") words="-o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal scores") words="-b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry") words="subscribe list remove plugin latency -h --help" ;;
        "kafkabal telemetry subscribe") words="--name --metric --interval --match --topic -b --bootstrap-server --command-config --profile -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry list") words="-b --bootstrap-server --command-config --profile -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry remove") words="-b --bootstrap-server --command-config --profile -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry plugin") words="--libs --out -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry latency") words="--topic --listen --for --last -b --bootstrap-server --command-config --profile -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal completion") words="-q --quiet -v --verbose --color --no-color -h --help bash zsh fish" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -o default -F _kafkabal kafkabal
