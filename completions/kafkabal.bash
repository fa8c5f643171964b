# bash completion for kafkabal. Generated: change the commands, then run  python -m kafkabal.cli.reference
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
            "kafkabal produce" | \
            "kafkabal sandbox" | \
            "kafkabal sandbox up" | \
            "kafkabal sandbox status" | \
            "kafkabal sandbox logs" | \
            "kafkabal sandbox kill" | \
            "kafkabal sandbox pause" | \
            "kafkabal sandbox start" | \
            "kafkabal sandbox stop" | \
            "kafkabal sandbox down" | \
            "kafkabal scores" | \
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
        "kafkabal inspect -o" | "kafkabal inspect --output") COMPREPLY=($(compgen -W "table json yaml csv prometheus" -- "$current")); return ;;
        "kafkabal inspect --output-file") return ;;
        "kafkabal inspect -w" | "kafkabal inspect --warning") return ;;
        "kafkabal inspect -c" | "kafkabal inspect --critical") return ;;
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
        "kafkabal produce --policy") return ;;
        "kafkabal produce --refresh") return ;;
        "kafkabal produce --producer-config") return ;;
        "kafkabal produce --manifest") return ;;
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
        "kafkabal sandbox status --name") return ;;
        "kafkabal sandbox status -o" | "kafkabal sandbox status --output") COMPREPLY=($(compgen -W "table json yaml" -- "$current")); return ;;
        "kafkabal sandbox status --output-file") return ;;
        "kafkabal sandbox logs --name") return ;;
        "kafkabal sandbox logs -n" | "kafkabal sandbox logs --lines") return ;;
        "kafkabal sandbox kill --name") return ;;
        "kafkabal sandbox pause --name") return ;;
        "kafkabal sandbox start --name") return ;;
        "kafkabal sandbox stop --name") return ;;
        "kafkabal sandbox down --name") return ;;
        "kafkabal scores -b" | "kafkabal scores --bootstrap-server") return ;;
        "kafkabal scores --command-config") return ;;
        "kafkabal scores --profile") return ;;
        "kafkabal scores --snapshot") return ;;
        "kafkabal scores --zookeeper") return ;;
        "kafkabal scores --broker-timeout") return ;;
        "kafkabal scores -o" | "kafkabal scores --output") COMPREPLY=($(compgen -W "table json yaml csv prometheus" -- "$current")); return ;;
        "kafkabal scores --output-file") return ;;
    esac
    case "$command" in
        "kafkabal") words="inspect produce sandbox scores completion --version --help -h" ;;
        "kafkabal inspect") words="--by --top --sample --watch --save -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score --tolerance -o --output --output-file --check --nagios -w --warning -c --critical -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal produce") words="-b --bootstrap-server --command-config --profile --score -o --output --output-file --format --key --value --chunk --policy --refresh --producer-config --any-key-order --manifest --no-manifest -q --quiet -v --verbose --no-color --help -h $(_kafkabal_names topics)" ;;
        "kafkabal sandbox") words="up status logs kill pause start stop down --help -h" ;;
        "kafkabal sandbox up") words="--name --timeout --brokers --racks --log-dirs --capacity --controllers --zookeeper --kafka-version --replicas --heap --property --broker-property --listener --class-path -o --output --output-file -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal sandbox status") words="--name -o --output --output-file -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal sandbox logs") words="--name -n --lines -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal sandbox kill") words="--name -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal sandbox pause") words="--name -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal sandbox start") words="--name -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal sandbox stop") words="--name -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal sandbox down") words="--name -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal scores") words="-b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -o --output --output-file -q --quiet -v --verbose --no-color --help -h" ;;
        "kafkabal completion") words="-q --quiet -v --verbose --no-color --help -h bash zsh fish" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -o default -F _kafkabal kafkabal
