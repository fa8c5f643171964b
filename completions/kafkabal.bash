# bash completion for kafkabal. Generated: change the commands, then run  python -m tools.reference
# Commands, options and fixed words are in this file; names (topics, profiles, ...) come from kafkabal itself.

# words=  commands and options of the command $1
_kafkabal_words() {
    case "$1" in
        "kafkabal") words="inspect rebalance create advise produce read route-simulate route routing watch top monitoring telemetry doctor profiles config completion scores policies snapshot help sandbox demo|--version -h --help" ;;
        "kafkabal inspect") words="diff|--by --top --sample --save --cluster-timeout -b --bootstrap-server --command-config --profile --all-profiles --topics --snapshot --zookeeper --broker-timeout --score --tolerance -o --output --output-file --check --nagios -w --warning -c --critical -t --timeout --record --growth --over --full-within --rack-level --price-per-gb --telemetry --prometheus --prometheus-query --prometheus-label -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal inspect diff") words="|--all --score --tolerance -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance") words="plan show diff explain apply simulate status pause resume cancel rollback throttle history repair adopt|--all -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --score --tolerance --count-capacity --max-bytes --max-moves --max-leader-changes --max-duration --dead-after --throttle --log-dir-throttle --window --topics --exclude-topics --exclude-brokers --include-internal --drain --repair-only --leaders-only --log-dirs-only --only-to-new --below --max-cross-rack-bytes --broker-limit --keep-moved --replication-factor --max-runtime --override-throttle --on-interrupt --moves-per-broker --one-replica-at-a-time --yes --dry-run --exit-code --allow --force --on-unfinished --rollback-file -o --output --textfile --notify --save --telemetry --prometheus --prometheus-query --prometheus-label --check --wait -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance plan") words="|--out --all --plan-for --frontier --what-if -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score --tolerance --count-capacity --max-bytes --max-moves --max-leader-changes --max-duration --throttle --topics --exclude-topics --exclude-brokers --include-internal --drain --repair-only --leaders-only --log-dirs-only --only-to-new --below --max-cross-rack-bytes --broker-limit --keep-moved --replication-factor -o --output --output-file --telemetry --prometheus --prometheus-query --prometheus-label -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance show") words="|--all -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance diff") words="|--all -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance explain") words="|--why-not -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score --tolerance --count-capacity --max-bytes --max-moves --max-leader-changes --max-duration --throttle --topics --exclude-topics --exclude-brokers --include-internal --drain --repair-only --leaders-only --log-dirs-only --only-to-new --below --max-cross-rack-bytes --broker-limit --keep-moved --replication-factor -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance apply") words="|--skip-drifted -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --dead-after --throttle --log-dir-throttle --window --max-runtime --override-throttle --on-interrupt --moves-per-broker --one-replica-at-a-time --yes --dry-run --exit-code --allow --force --on-unfinished --rollback-file -o --output --textfile --notify --save --wait -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance simulate") words="|--case --days --check -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance status") words="|--journal --watch -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance pause") words="|--wait -b --bootstrap-server --command-config --profile --zookeeper --broker-timeout -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance resume") words="|--journal --yes -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --throttle --log-dir-throttle --window --max-runtime --override-throttle --on-interrupt --moves-per-broker --one-replica-at-a-time -o --output --textfile --notify --save --wait -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance cancel") words="|--journal --yes --wait -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller -o --output --textfile --notify --save -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance rollback") words="|--journal --yes --dry-run -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --throttle --log-dir-throttle --window --max-runtime --override-throttle --on-interrupt --moves-per-broker --one-replica-at-a-time -o --output --textfile --notify --save --wait -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance throttle") words="|--log-dir-throttle -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance history") words="|--last -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance repair") words="|--journal --remove --yes -b --bootstrap-server --command-config --profile --zookeeper --broker-timeout --bootstrap-controller -o --output --textfile --notify --wait -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal rebalance adopt") words="|--finish --cancel --remove-throttles --yes -b --bootstrap-server --command-config --profile --zookeeper --broker-timeout --bootstrap-controller --throttle --log-dir-throttle --window --max-runtime --override-throttle --on-interrupt --moves-per-broker --one-replica-at-a-time -o --output --textfile --notify -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal create") words="|--placement --if-not-exists --dry-run --exit-code --all --yes -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score --tolerance --exclude-brokers -o --output --output-file -p --partitions -r --replication-factor --preset --config --partition-bytes -f --file --save --telemetry --prometheus --prometheus-query --prometheus-label -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal advise") words="|--target --broker --limit --plan-for -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --tolerance --throttle -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal produce") words="|-b --bootstrap-server --command-config --profile --score -o --output --output-file --textfile --format --key --value --label --include --exclude --transform --chunk --read-ahead --policy --refresh --producer-config --any-key-order --manifest --no-manifest --resend --telemetry --prometheus --prometheus-query --prometheus-label -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal read") words="|-b --bootstrap-server --command-config --profile -o --output --output-file --textfile --to --follow --from-start --for --rack --readers --prefetch --cache --cache-bytes --out -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal route-simulate") words="|--policy --topic --seeds --latency --no-latency --plot -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --score -o --output --output-file --workload --records --bytes --data --key --storage --training --rack -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal route") words="|--policy -b --bootstrap-server --command-config --profile --snapshot --broker-timeout --score -o --output --output-file --publish --once --refresh --valid-for --telemetry --prometheus --prometheus-query --prometheus-label -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal routing") words="plugin|-h --help" ;;
        "kafkabal routing plugin") words="|--out -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal watch") words="|--every --slow --once -b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --tolerance --throttle --window --topics --exclude-topics --exclude-brokers --include-internal --heal --dead-after --move-after --max-bytes-per-day --max-actions-per-day --max-dead --rebalance-above -o --output --textfile --notify -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal top") words="|--by --every -b --bootstrap-server --command-config --profile --zookeeper --broker-timeout --score --tolerance -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal monitoring") words="|--out --profile --overwrite --full --full-within --blind-after --webhook --exporter --alertmanager --textfiles -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry") words="subscribe list remove plugin show errors latency|-h --help" ;;
        "kafkabal telemetry subscribe") words="|--name --metric --interval --match --topic -b --bootstrap-server --command-config --profile --broker-timeout -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry list") words="|-b --bootstrap-server --command-config --profile --broker-timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry remove") words="|-b --bootstrap-server --command-config --profile --broker-timeout -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry plugin") words="|--libs --out -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry show") words="|--metric --top -b --bootstrap-server --command-config --profile --broker-timeout -o --output --output-file --topic --listen --for --last -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry errors") words="|-b --bootstrap-server --command-config --profile --broker-timeout -o --output --output-file --topic --listen --for --last -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal telemetry latency") words="|-b --bootstrap-server --command-config --profile --broker-timeout -o --output --output-file --topic --listen --for --last -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal doctor") words="|--for -b --bootstrap-server --command-config --profile --zookeeper --broker-timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal profiles") words="list show use check add|-h --help" ;;
        "kafkabal profiles list") words="|-o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal profiles show") words="|-o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal profiles use") words="|-q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal profiles check") words="|-t --timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal profiles add") words="|-b --bootstrap-server --command-config --zookeeper --snapshot --set --use -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal config") words="show|-h --help" ;;
        "kafkabal config show") words="|-b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout --bootstrap-controller --score --tolerance --count-capacity --max-bytes --max-moves --max-leader-changes --max-duration --dead-after --throttle --log-dir-throttle --window --topics --exclude-topics --exclude-brokers --include-internal -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal completion") words="install bash zsh fish candidates|-h --help" ;;
        "kafkabal completion install") words="|-q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal completion bash") words="|-q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal completion zsh") words="|-q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal completion fish") words="|-q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal completion candidates") words="|--name --plan -b --bootstrap-server --command-config --profile --snapshot --zookeeper -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal scores") words="|-b --bootstrap-server --command-config --profile --snapshot --zookeeper --broker-timeout -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal policies") words="|-o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal snapshot") words="import|-h --help" ;;
        "kafkabal snapshot import") words="|--out --topics --assignment --log-dirs --cluster-id -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal help") words="|-q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox") words="up status logs kill pause start stop down|-h --help" ;;
        "kafkabal sandbox up") words="|--name --timeout --brokers --racks --log-dirs --capacity --controllers --zookeeper --kafka-version --replicas --heap --property --broker-property --listener --class-path -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox status") words="|--name -o --output --output-file -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox logs") words="|--name -n --lines -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox kill") words="|--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox pause") words="|--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox start") words="|--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox stop") words="|--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal sandbox down") words="|--name -q --quiet -v --verbose --color --no-color -h --help" ;;
        "kafkabal demo") words="|--keep -q --quiet -v --verbose --color --no-color -h --help" ;;
        *) words= ;;
    esac
}

# spec=  what is expected after the option $2 of the command $1, or as its argument #0, #1 ... or #* for all others
_kafkabal_spec() {
    case "$1 $2" in
        "kafkabal inspect --by") spec="words broker log-dir rack topic partition" ;;
        "kafkabal inspect --top") spec="value" ;;
        "kafkabal inspect --sample") spec="value" ;;
        "kafkabal inspect --save") spec="files" ;;
        "kafkabal inspect --cluster-timeout") spec="value" ;;
        "kafkabal inspect -b" | "kafkabal inspect --bootstrap-server") spec="value" ;;
        "kafkabal inspect --command-config") spec="files" ;;
        "kafkabal inspect --profile") spec="names profiles" ;;
        "kafkabal inspect --topics") spec="names topics" ;;
        "kafkabal inspect --snapshot") spec="files" ;;
        "kafkabal inspect --zookeeper") spec="value" ;;
        "kafkabal inspect --broker-timeout") spec="value" ;;
        "kafkabal inspect --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal inspect --tolerance") spec="value" ;;
        "kafkabal inspect -o" | "kafkabal inspect --output") spec="words table json jsonl yaml csv markdown html prometheus" ;;
        "kafkabal inspect --output-file") spec="files" ;;
        "kafkabal inspect -w" | "kafkabal inspect --warning") spec="value" ;;
        "kafkabal inspect -c" | "kafkabal inspect --critical") spec="value" ;;
        "kafkabal inspect -t" | "kafkabal inspect --timeout") spec="value" ;;
        "kafkabal inspect --over") spec="value" ;;
        "kafkabal inspect --full-within") spec="value" ;;
        "kafkabal inspect --rack-level") spec="value" ;;
        "kafkabal inspect --price-per-gb") spec="value" ;;
        "kafkabal inspect --telemetry") spec="words topic" ;;
        "kafkabal inspect --prometheus") spec="value" ;;
        "kafkabal inspect --prometheus-query") spec="value" ;;
        "kafkabal inspect --prometheus-label") spec="value" ;;
        "kafkabal inspect --color") spec="words auto always never" ;;
        "kafkabal inspect diff --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal inspect diff --tolerance") spec="value" ;;
        "kafkabal inspect diff -o" | "kafkabal inspect diff --output") spec="words table json yaml csv markdown" ;;
        "kafkabal inspect diff --output-file") spec="files" ;;
        "kafkabal inspect diff --color") spec="words auto always never" ;;
        "kafkabal inspect diff #0") spec="files" ;;
        "kafkabal inspect diff #1") spec="files" ;;
        "kafkabal rebalance -b" | "kafkabal rebalance --bootstrap-server") spec="value" ;;
        "kafkabal rebalance --command-config") spec="files" ;;
        "kafkabal rebalance --profile") spec="names profiles" ;;
        "kafkabal rebalance --snapshot") spec="files" ;;
        "kafkabal rebalance --zookeeper") spec="value" ;;
        "kafkabal rebalance --broker-timeout") spec="value" ;;
        "kafkabal rebalance --bootstrap-controller") spec="value" ;;
        "kafkabal rebalance --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal rebalance --tolerance") spec="value" ;;
        "kafkabal rebalance --count-capacity") spec="words equal disk" ;;
        "kafkabal rebalance --max-bytes") spec="value" ;;
        "kafkabal rebalance --max-moves") spec="value" ;;
        "kafkabal rebalance --max-leader-changes") spec="value" ;;
        "kafkabal rebalance --max-duration") spec="value" ;;
        "kafkabal rebalance --dead-after") spec="value" ;;
        "kafkabal rebalance --throttle") spec="words auto none" ;;
        "kafkabal rebalance --log-dir-throttle") spec="value" ;;
        "kafkabal rebalance --window") spec="value" ;;
        "kafkabal rebalance --topics") spec="list names topics" ;;
        "kafkabal rebalance --exclude-topics") spec="list names topics" ;;
        "kafkabal rebalance --exclude-brokers") spec="list names brokers" ;;
        "kafkabal rebalance --drain") spec="list names brokers" ;;
        "kafkabal rebalance --below") spec="value" ;;
        "kafkabal rebalance --max-cross-rack-bytes") spec="value" ;;
        "kafkabal rebalance --broker-limit") spec="value" ;;
        "kafkabal rebalance --keep-moved") spec="files" ;;
        "kafkabal rebalance --replication-factor") spec="value" ;;
        "kafkabal rebalance --max-runtime") spec="value" ;;
        "kafkabal rebalance --on-interrupt") spec="words cancel finish detach" ;;
        "kafkabal rebalance --moves-per-broker") spec="value" ;;
        "kafkabal rebalance --allow") spec="words other-reassignments recently-dead offline-partitions under-replicated replication-factor rack-spread closed-target throttle" ;;
        "kafkabal rebalance --on-unfinished") spec="words resume refuse" ;;
        "kafkabal rebalance --rollback-file") spec="files" ;;
        "kafkabal rebalance -o" | "kafkabal rebalance --output") spec="words table json jsonl" ;;
        "kafkabal rebalance --textfile") spec="files" ;;
        "kafkabal rebalance --notify") spec="value" ;;
        "kafkabal rebalance --save") spec="files" ;;
        "kafkabal rebalance --telemetry") spec="words topic" ;;
        "kafkabal rebalance --prometheus") spec="value" ;;
        "kafkabal rebalance --prometheus-query") spec="value" ;;
        "kafkabal rebalance --prometheus-label") spec="value" ;;
        "kafkabal rebalance --wait") spec="value" ;;
        "kafkabal rebalance --color") spec="words auto always never" ;;
        "kafkabal rebalance plan --out") spec="files" ;;
        "kafkabal rebalance plan --plan-for") spec="value" ;;
        "kafkabal rebalance plan --what-if") spec="value" ;;
        "kafkabal rebalance plan -b" | "kafkabal rebalance plan --bootstrap-server") spec="value" ;;
        "kafkabal rebalance plan --command-config") spec="files" ;;
        "kafkabal rebalance plan --profile") spec="names profiles" ;;
        "kafkabal rebalance plan --snapshot") spec="files" ;;
        "kafkabal rebalance plan --zookeeper") spec="value" ;;
        "kafkabal rebalance plan --broker-timeout") spec="value" ;;
        "kafkabal rebalance plan --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal rebalance plan --tolerance") spec="value" ;;
        "kafkabal rebalance plan --count-capacity") spec="words equal disk" ;;
        "kafkabal rebalance plan --max-bytes") spec="value" ;;
        "kafkabal rebalance plan --max-moves") spec="value" ;;
        "kafkabal rebalance plan --max-leader-changes") spec="value" ;;
        "kafkabal rebalance plan --max-duration") spec="value" ;;
        "kafkabal rebalance plan --throttle") spec="words auto none" ;;
        "kafkabal rebalance plan --topics") spec="list names topics" ;;
        "kafkabal rebalance plan --exclude-topics") spec="list names topics" ;;
        "kafkabal rebalance plan --exclude-brokers") spec="list names brokers" ;;
        "kafkabal rebalance plan --drain") spec="list names brokers" ;;
        "kafkabal rebalance plan --below") spec="value" ;;
        "kafkabal rebalance plan --max-cross-rack-bytes") spec="value" ;;
        "kafkabal rebalance plan --broker-limit") spec="value" ;;
        "kafkabal rebalance plan --keep-moved") spec="files" ;;
        "kafkabal rebalance plan --replication-factor") spec="value" ;;
        "kafkabal rebalance plan -o" | "kafkabal rebalance plan --output") spec="words table json yaml csv markdown html" ;;
        "kafkabal rebalance plan --output-file") spec="files" ;;
        "kafkabal rebalance plan --telemetry") spec="words topic" ;;
        "kafkabal rebalance plan --prometheus") spec="value" ;;
        "kafkabal rebalance plan --prometheus-query") spec="value" ;;
        "kafkabal rebalance plan --prometheus-label") spec="value" ;;
        "kafkabal rebalance plan --color") spec="words auto always never" ;;
        "kafkabal rebalance show -o" | "kafkabal rebalance show --output") spec="words table json yaml csv markdown html" ;;
        "kafkabal rebalance show --output-file") spec="files" ;;
        "kafkabal rebalance show --color") spec="words auto always never" ;;
        "kafkabal rebalance show #0") spec="files" ;;
        "kafkabal rebalance diff -o" | "kafkabal rebalance diff --output") spec="words table json yaml csv markdown html" ;;
        "kafkabal rebalance diff --output-file") spec="files" ;;
        "kafkabal rebalance diff --color") spec="words auto always never" ;;
        "kafkabal rebalance diff #0") spec="files" ;;
        "kafkabal rebalance diff #1") spec="files" ;;
        "kafkabal rebalance explain -b" | "kafkabal rebalance explain --bootstrap-server") spec="value" ;;
        "kafkabal rebalance explain --command-config") spec="files" ;;
        "kafkabal rebalance explain --profile") spec="names profiles" ;;
        "kafkabal rebalance explain --snapshot") spec="files" ;;
        "kafkabal rebalance explain --zookeeper") spec="value" ;;
        "kafkabal rebalance explain --broker-timeout") spec="value" ;;
        "kafkabal rebalance explain --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal rebalance explain --tolerance") spec="value" ;;
        "kafkabal rebalance explain --count-capacity") spec="words equal disk" ;;
        "kafkabal rebalance explain --max-bytes") spec="value" ;;
        "kafkabal rebalance explain --max-moves") spec="value" ;;
        "kafkabal rebalance explain --max-leader-changes") spec="value" ;;
        "kafkabal rebalance explain --max-duration") spec="value" ;;
        "kafkabal rebalance explain --throttle") spec="words auto none" ;;
        "kafkabal rebalance explain --topics") spec="list names topics" ;;
        "kafkabal rebalance explain --exclude-topics") spec="list names topics" ;;
        "kafkabal rebalance explain --exclude-brokers") spec="list names brokers" ;;
        "kafkabal rebalance explain --drain") spec="list names brokers" ;;
        "kafkabal rebalance explain --below") spec="value" ;;
        "kafkabal rebalance explain --max-cross-rack-bytes") spec="value" ;;
        "kafkabal rebalance explain --broker-limit") spec="value" ;;
        "kafkabal rebalance explain --keep-moved") spec="files" ;;
        "kafkabal rebalance explain --replication-factor") spec="value" ;;
        "kafkabal rebalance explain -o" | "kafkabal rebalance explain --output") spec="words table json yaml" ;;
        "kafkabal rebalance explain --output-file") spec="files" ;;
        "kafkabal rebalance explain --color") spec="words auto always never" ;;
        "kafkabal rebalance explain #0") spec="files" ;;
        "kafkabal rebalance explain #1") spec="names partitions" ;;
        "kafkabal rebalance apply -b" | "kafkabal rebalance apply --bootstrap-server") spec="value" ;;
        "kafkabal rebalance apply --command-config") spec="files" ;;
        "kafkabal rebalance apply --profile") spec="names profiles" ;;
        "kafkabal rebalance apply --snapshot") spec="files" ;;
        "kafkabal rebalance apply --zookeeper") spec="value" ;;
        "kafkabal rebalance apply --broker-timeout") spec="value" ;;
        "kafkabal rebalance apply --bootstrap-controller") spec="value" ;;
        "kafkabal rebalance apply --dead-after") spec="value" ;;
        "kafkabal rebalance apply --throttle") spec="words auto none" ;;
        "kafkabal rebalance apply --log-dir-throttle") spec="value" ;;
        "kafkabal rebalance apply --window") spec="value" ;;
        "kafkabal rebalance apply --max-runtime") spec="value" ;;
        "kafkabal rebalance apply --on-interrupt") spec="words cancel finish detach" ;;
        "kafkabal rebalance apply --moves-per-broker") spec="value" ;;
        "kafkabal rebalance apply --allow") spec="words other-reassignments recently-dead offline-partitions under-replicated replication-factor rack-spread closed-target throttle" ;;
        "kafkabal rebalance apply --on-unfinished") spec="words resume refuse" ;;
        "kafkabal rebalance apply --rollback-file") spec="files" ;;
        "kafkabal rebalance apply -o" | "kafkabal rebalance apply --output") spec="words table json jsonl" ;;
        "kafkabal rebalance apply --textfile") spec="files" ;;
        "kafkabal rebalance apply --notify") spec="value" ;;
        "kafkabal rebalance apply --save") spec="files" ;;
        "kafkabal rebalance apply --wait") spec="value" ;;
        "kafkabal rebalance apply --color") spec="words auto always never" ;;
        "kafkabal rebalance apply #0") spec="files" ;;
        "kafkabal rebalance simulate --case") spec="files" ;;
        "kafkabal rebalance simulate --days") spec="value" ;;
        "kafkabal rebalance simulate -b" | "kafkabal rebalance simulate --bootstrap-server") spec="value" ;;
        "kafkabal rebalance simulate --command-config") spec="files" ;;
        "kafkabal rebalance simulate --profile") spec="names profiles" ;;
        "kafkabal rebalance simulate --snapshot") spec="files" ;;
        "kafkabal rebalance simulate --zookeeper") spec="value" ;;
        "kafkabal rebalance simulate --broker-timeout") spec="value" ;;
        "kafkabal rebalance simulate -o" | "kafkabal rebalance simulate --output") spec="words table json jsonl yaml csv markdown" ;;
        "kafkabal rebalance simulate --output-file") spec="files" ;;
        "kafkabal rebalance simulate --color") spec="words auto always never" ;;
        "kafkabal rebalance status --journal") spec="files" ;;
        "kafkabal rebalance status -b" | "kafkabal rebalance status --bootstrap-server") spec="value" ;;
        "kafkabal rebalance status --command-config") spec="files" ;;
        "kafkabal rebalance status --profile") spec="names profiles" ;;
        "kafkabal rebalance status --snapshot") spec="files" ;;
        "kafkabal rebalance status --zookeeper") spec="value" ;;
        "kafkabal rebalance status --broker-timeout") spec="value" ;;
        "kafkabal rebalance status -o" | "kafkabal rebalance status --output") spec="words table json yaml" ;;
        "kafkabal rebalance status --output-file") spec="files" ;;
        "kafkabal rebalance status --color") spec="words auto always never" ;;
        "kafkabal rebalance pause --wait") spec="value" ;;
        "kafkabal rebalance pause -b" | "kafkabal rebalance pause --bootstrap-server") spec="value" ;;
        "kafkabal rebalance pause --command-config") spec="files" ;;
        "kafkabal rebalance pause --profile") spec="names profiles" ;;
        "kafkabal rebalance pause --zookeeper") spec="value" ;;
        "kafkabal rebalance pause --broker-timeout") spec="value" ;;
        "kafkabal rebalance pause --color") spec="words auto always never" ;;
        "kafkabal rebalance resume --journal") spec="files" ;;
        "kafkabal rebalance resume -b" | "kafkabal rebalance resume --bootstrap-server") spec="value" ;;
        "kafkabal rebalance resume --command-config") spec="files" ;;
        "kafkabal rebalance resume --profile") spec="names profiles" ;;
        "kafkabal rebalance resume --snapshot") spec="files" ;;
        "kafkabal rebalance resume --zookeeper") spec="value" ;;
        "kafkabal rebalance resume --broker-timeout") spec="value" ;;
        "kafkabal rebalance resume --bootstrap-controller") spec="value" ;;
        "kafkabal rebalance resume --throttle") spec="words auto none" ;;
        "kafkabal rebalance resume --log-dir-throttle") spec="value" ;;
        "kafkabal rebalance resume --window") spec="value" ;;
        "kafkabal rebalance resume --max-runtime") spec="value" ;;
        "kafkabal rebalance resume --on-interrupt") spec="words cancel finish detach" ;;
        "kafkabal rebalance resume --moves-per-broker") spec="value" ;;
        "kafkabal rebalance resume -o" | "kafkabal rebalance resume --output") spec="words table json jsonl" ;;
        "kafkabal rebalance resume --textfile") spec="files" ;;
        "kafkabal rebalance resume --notify") spec="value" ;;
        "kafkabal rebalance resume --save") spec="files" ;;
        "kafkabal rebalance resume --wait") spec="value" ;;
        "kafkabal rebalance resume --color") spec="words auto always never" ;;
        "kafkabal rebalance cancel --journal") spec="files" ;;
        "kafkabal rebalance cancel --wait") spec="value" ;;
        "kafkabal rebalance cancel -b" | "kafkabal rebalance cancel --bootstrap-server") spec="value" ;;
        "kafkabal rebalance cancel --command-config") spec="files" ;;
        "kafkabal rebalance cancel --profile") spec="names profiles" ;;
        "kafkabal rebalance cancel --snapshot") spec="files" ;;
        "kafkabal rebalance cancel --zookeeper") spec="value" ;;
        "kafkabal rebalance cancel --broker-timeout") spec="value" ;;
        "kafkabal rebalance cancel --bootstrap-controller") spec="value" ;;
        "kafkabal rebalance cancel -o" | "kafkabal rebalance cancel --output") spec="words table json jsonl" ;;
        "kafkabal rebalance cancel --textfile") spec="files" ;;
        "kafkabal rebalance cancel --notify") spec="value" ;;
        "kafkabal rebalance cancel --save") spec="files" ;;
        "kafkabal rebalance cancel --color") spec="words auto always never" ;;
        "kafkabal rebalance rollback --journal") spec="files" ;;
        "kafkabal rebalance rollback -b" | "kafkabal rebalance rollback --bootstrap-server") spec="value" ;;
        "kafkabal rebalance rollback --command-config") spec="files" ;;
        "kafkabal rebalance rollback --profile") spec="names profiles" ;;
        "kafkabal rebalance rollback --snapshot") spec="files" ;;
        "kafkabal rebalance rollback --zookeeper") spec="value" ;;
        "kafkabal rebalance rollback --broker-timeout") spec="value" ;;
        "kafkabal rebalance rollback --bootstrap-controller") spec="value" ;;
        "kafkabal rebalance rollback --throttle") spec="words auto none" ;;
        "kafkabal rebalance rollback --log-dir-throttle") spec="value" ;;
        "kafkabal rebalance rollback --window") spec="value" ;;
        "kafkabal rebalance rollback --max-runtime") spec="value" ;;
        "kafkabal rebalance rollback --on-interrupt") spec="words cancel finish detach" ;;
        "kafkabal rebalance rollback --moves-per-broker") spec="value" ;;
        "kafkabal rebalance rollback -o" | "kafkabal rebalance rollback --output") spec="words table json jsonl" ;;
        "kafkabal rebalance rollback --textfile") spec="files" ;;
        "kafkabal rebalance rollback --notify") spec="value" ;;
        "kafkabal rebalance rollback --save") spec="files" ;;
        "kafkabal rebalance rollback --wait") spec="value" ;;
        "kafkabal rebalance rollback --color") spec="words auto always never" ;;
        "kafkabal rebalance rollback #0") spec="names runs" ;;
        "kafkabal rebalance throttle --log-dir-throttle") spec="value" ;;
        "kafkabal rebalance throttle -b" | "kafkabal rebalance throttle --bootstrap-server") spec="value" ;;
        "kafkabal rebalance throttle --command-config") spec="files" ;;
        "kafkabal rebalance throttle --profile") spec="names profiles" ;;
        "kafkabal rebalance throttle --snapshot") spec="files" ;;
        "kafkabal rebalance throttle --zookeeper") spec="value" ;;
        "kafkabal rebalance throttle --broker-timeout") spec="value" ;;
        "kafkabal rebalance throttle --color") spec="words auto always never" ;;
        "kafkabal rebalance throttle #0") spec="words auto" ;;
        "kafkabal rebalance history --last") spec="value" ;;
        "kafkabal rebalance history -b" | "kafkabal rebalance history --bootstrap-server") spec="value" ;;
        "kafkabal rebalance history --command-config") spec="files" ;;
        "kafkabal rebalance history --profile") spec="names profiles" ;;
        "kafkabal rebalance history --snapshot") spec="files" ;;
        "kafkabal rebalance history --zookeeper") spec="value" ;;
        "kafkabal rebalance history --broker-timeout") spec="value" ;;
        "kafkabal rebalance history -o" | "kafkabal rebalance history --output") spec="words table json yaml csv markdown" ;;
        "kafkabal rebalance history --output-file") spec="files" ;;
        "kafkabal rebalance history --color") spec="words auto always never" ;;
        "kafkabal rebalance repair --journal") spec="files" ;;
        "kafkabal rebalance repair -b" | "kafkabal rebalance repair --bootstrap-server") spec="value" ;;
        "kafkabal rebalance repair --command-config") spec="files" ;;
        "kafkabal rebalance repair --profile") spec="names profiles" ;;
        "kafkabal rebalance repair --zookeeper") spec="value" ;;
        "kafkabal rebalance repair --broker-timeout") spec="value" ;;
        "kafkabal rebalance repair --bootstrap-controller") spec="value" ;;
        "kafkabal rebalance repair -o" | "kafkabal rebalance repair --output") spec="words table json jsonl" ;;
        "kafkabal rebalance repair --textfile") spec="files" ;;
        "kafkabal rebalance repair --notify") spec="value" ;;
        "kafkabal rebalance repair --wait") spec="value" ;;
        "kafkabal rebalance repair --color") spec="words auto always never" ;;
        "kafkabal rebalance adopt -b" | "kafkabal rebalance adopt --bootstrap-server") spec="value" ;;
        "kafkabal rebalance adopt --command-config") spec="files" ;;
        "kafkabal rebalance adopt --profile") spec="names profiles" ;;
        "kafkabal rebalance adopt --zookeeper") spec="value" ;;
        "kafkabal rebalance adopt --broker-timeout") spec="value" ;;
        "kafkabal rebalance adopt --bootstrap-controller") spec="value" ;;
        "kafkabal rebalance adopt --throttle") spec="words auto none" ;;
        "kafkabal rebalance adopt --log-dir-throttle") spec="value" ;;
        "kafkabal rebalance adopt --window") spec="value" ;;
        "kafkabal rebalance adopt --max-runtime") spec="value" ;;
        "kafkabal rebalance adopt --on-interrupt") spec="words cancel finish detach" ;;
        "kafkabal rebalance adopt --moves-per-broker") spec="value" ;;
        "kafkabal rebalance adopt -o" | "kafkabal rebalance adopt --output") spec="words table json jsonl" ;;
        "kafkabal rebalance adopt --textfile") spec="files" ;;
        "kafkabal rebalance adopt --notify") spec="value" ;;
        "kafkabal rebalance adopt --color") spec="words auto always never" ;;
        "kafkabal create --placement") spec="words score even brokers+2 binomial:0.5" ;;
        "kafkabal create -b" | "kafkabal create --bootstrap-server") spec="value" ;;
        "kafkabal create --command-config") spec="files" ;;
        "kafkabal create --profile") spec="names profiles" ;;
        "kafkabal create --snapshot") spec="files" ;;
        "kafkabal create --zookeeper") spec="value" ;;
        "kafkabal create --broker-timeout") spec="value" ;;
        "kafkabal create --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal create --tolerance") spec="value" ;;
        "kafkabal create --exclude-brokers") spec="list names brokers" ;;
        "kafkabal create -o" | "kafkabal create --output") spec="words table json yaml csv" ;;
        "kafkabal create --output-file") spec="files" ;;
        "kafkabal create -p" | "kafkabal create --partitions") spec="value" ;;
        "kafkabal create -r" | "kafkabal create --replication-factor") spec="value" ;;
        "kafkabal create --preset") spec="words training" ;;
        "kafkabal create --config") spec="value" ;;
        "kafkabal create --partition-bytes") spec="value" ;;
        "kafkabal create -f" | "kafkabal create --file") spec="files" ;;
        "kafkabal create --save") spec="files" ;;
        "kafkabal create --telemetry") spec="words topic" ;;
        "kafkabal create --prometheus") spec="value" ;;
        "kafkabal create --prometheus-query") spec="value" ;;
        "kafkabal create --prometheus-label") spec="value" ;;
        "kafkabal create --color") spec="words auto always never" ;;
        "kafkabal create #0") spec="names topics" ;;
        "kafkabal advise --target") spec="value" ;;
        "kafkabal advise --broker") spec="names brokers" ;;
        "kafkabal advise --limit") spec="value" ;;
        "kafkabal advise --plan-for") spec="value" ;;
        "kafkabal advise -b" | "kafkabal advise --bootstrap-server") spec="value" ;;
        "kafkabal advise --command-config") spec="files" ;;
        "kafkabal advise --profile") spec="names profiles" ;;
        "kafkabal advise --snapshot") spec="files" ;;
        "kafkabal advise --zookeeper") spec="value" ;;
        "kafkabal advise --broker-timeout") spec="value" ;;
        "kafkabal advise --tolerance") spec="value" ;;
        "kafkabal advise --throttle") spec="words auto none" ;;
        "kafkabal advise -o" | "kafkabal advise --output") spec="words table json yaml csv markdown html" ;;
        "kafkabal advise --output-file") spec="files" ;;
        "kafkabal advise --color") spec="words auto always never" ;;
        "kafkabal produce -b" | "kafkabal produce --bootstrap-server") spec="value" ;;
        "kafkabal produce --command-config") spec="files" ;;
        "kafkabal produce --profile") spec="names profiles" ;;
        "kafkabal produce --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal produce -o" | "kafkabal produce --output") spec="words table json yaml csv" ;;
        "kafkabal produce --output-file") spec="files" ;;
        "kafkabal produce --textfile") spec="files" ;;
        "kafkabal produce --format") spec="words jsonl text csv parquet arrow tfrecord webdataset" ;;
        "kafkabal produce --key") spec="value" ;;
        "kafkabal produce --value") spec="value" ;;
        "kafkabal produce --label") spec="value" ;;
        "kafkabal produce --include") spec="value" ;;
        "kafkabal produce --exclude") spec="value" ;;
        "kafkabal produce --transform") spec="value" ;;
        "kafkabal produce --chunk") spec="value" ;;
        "kafkabal produce --read-ahead") spec="value" ;;
        "kafkabal produce --policy") spec="words random round-robin key-hash default sticky uniform-sticky adaptive join-idle-queue c3 prequal score smooth-weighted astraea rack-local power-of-d least-loaded pkg d-choices w-choices bounded-load" ;;
        "kafkabal produce --refresh") spec="value" ;;
        "kafkabal produce --producer-config") spec="value" ;;
        "kafkabal produce --manifest") spec="files" ;;
        "kafkabal produce --telemetry") spec="words topic" ;;
        "kafkabal produce --prometheus") spec="value" ;;
        "kafkabal produce --prometheus-query") spec="value" ;;
        "kafkabal produce --prometheus-label") spec="value" ;;
        "kafkabal produce --color") spec="words auto always never" ;;
        "kafkabal produce #0") spec="names topics" ;;
        "kafkabal produce #1") spec="files" ;;
        "kafkabal read -b" | "kafkabal read --bootstrap-server") spec="value" ;;
        "kafkabal read --command-config") spec="files" ;;
        "kafkabal read --profile") spec="names profiles" ;;
        "kafkabal read -o" | "kafkabal read --output") spec="words table json yaml csv" ;;
        "kafkabal read --output-file") spec="files" ;;
        "kafkabal read --textfile") spec="files" ;;
        "kafkabal read --to") spec="files" ;;
        "kafkabal read --for") spec="value" ;;
        "kafkabal read --rack") spec="value" ;;
        "kafkabal read --readers") spec="value" ;;
        "kafkabal read --prefetch") spec="value" ;;
        "kafkabal read --cache") spec="files" ;;
        "kafkabal read --cache-bytes") spec="value" ;;
        "kafkabal read --out") spec="files" ;;
        "kafkabal read --color") spec="words auto always never" ;;
        "kafkabal read #0") spec="names topics" ;;
        "kafkabal route-simulate --policy") spec="words random round-robin key-hash default sticky uniform-sticky adaptive join-idle-queue c3 prequal score smooth-weighted astraea rack-local power-of-d least-loaded pkg d-choices w-choices bounded-load" ;;
        "kafkabal route-simulate --topic") spec="names topics" ;;
        "kafkabal route-simulate --seeds") spec="value" ;;
        "kafkabal route-simulate --plot") spec="files" ;;
        "kafkabal route-simulate -b" | "kafkabal route-simulate --bootstrap-server") spec="value" ;;
        "kafkabal route-simulate --command-config") spec="files" ;;
        "kafkabal route-simulate --profile") spec="names profiles" ;;
        "kafkabal route-simulate --snapshot") spec="files" ;;
        "kafkabal route-simulate --zookeeper") spec="value" ;;
        "kafkabal route-simulate --broker-timeout") spec="value" ;;
        "kafkabal route-simulate --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal route-simulate -o" | "kafkabal route-simulate --output") spec="words table json yaml csv html" ;;
        "kafkabal route-simulate --output-file") spec="files" ;;
        "kafkabal route-simulate --workload") spec="words coco cola delayed-broker events images records slow-broker uneven" ;;
        "kafkabal route-simulate --records") spec="value" ;;
        "kafkabal route-simulate --bytes") spec="value" ;;
        "kafkabal route-simulate --data") spec="files" ;;
        "kafkabal route-simulate --key") spec="value" ;;
        "kafkabal route-simulate --storage") spec="words local-ssd nfs lustre all" ;;
        "kafkabal route-simulate --training") spec="files" ;;
        "kafkabal route-simulate --rack") spec="value" ;;
        "kafkabal route-simulate --color") spec="words auto always never" ;;
        "kafkabal route --policy") spec="value" ;;
        "kafkabal route -b" | "kafkabal route --bootstrap-server") spec="value" ;;
        "kafkabal route --command-config") spec="files" ;;
        "kafkabal route --profile") spec="names profiles" ;;
        "kafkabal route --snapshot") spec="files" ;;
        "kafkabal route --broker-timeout") spec="value" ;;
        "kafkabal route --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal route -o" | "kafkabal route --output") spec="words table json jsonl yaml csv" ;;
        "kafkabal route --output-file") spec="files" ;;
        "kafkabal route --refresh") spec="value" ;;
        "kafkabal route --valid-for") spec="value" ;;
        "kafkabal route --telemetry") spec="words topic" ;;
        "kafkabal route --prometheus") spec="value" ;;
        "kafkabal route --prometheus-query") spec="value" ;;
        "kafkabal route --prometheus-label") spec="value" ;;
        "kafkabal route --color") spec="words auto always never" ;;
        "kafkabal route #*") spec="names topics" ;;
        "kafkabal routing plugin --out") spec="files" ;;
        "kafkabal routing plugin --color") spec="words auto always never" ;;
        "kafkabal watch --every") spec="value" ;;
        "kafkabal watch --slow") spec="value" ;;
        "kafkabal watch -b" | "kafkabal watch --bootstrap-server") spec="value" ;;
        "kafkabal watch --command-config") spec="files" ;;
        "kafkabal watch --profile") spec="names profiles" ;;
        "kafkabal watch --snapshot") spec="files" ;;
        "kafkabal watch --zookeeper") spec="value" ;;
        "kafkabal watch --broker-timeout") spec="value" ;;
        "kafkabal watch --bootstrap-controller") spec="value" ;;
        "kafkabal watch --tolerance") spec="value" ;;
        "kafkabal watch --throttle") spec="words auto none" ;;
        "kafkabal watch --window") spec="value" ;;
        "kafkabal watch --topics") spec="list names topics" ;;
        "kafkabal watch --exclude-topics") spec="list names topics" ;;
        "kafkabal watch --exclude-brokers") spec="list names brokers" ;;
        "kafkabal watch --heal") spec="words none leaders all" ;;
        "kafkabal watch --dead-after") spec="value" ;;
        "kafkabal watch --move-after") spec="value" ;;
        "kafkabal watch --max-bytes-per-day") spec="value" ;;
        "kafkabal watch --max-actions-per-day") spec="value" ;;
        "kafkabal watch --max-dead") spec="value" ;;
        "kafkabal watch --rebalance-above") spec="value" ;;
        "kafkabal watch -o" | "kafkabal watch --output") spec="words table json jsonl" ;;
        "kafkabal watch --textfile") spec="files" ;;
        "kafkabal watch --notify") spec="value" ;;
        "kafkabal watch --color") spec="words auto always never" ;;
        "kafkabal top --by") spec="words broker log-dir rack topic partition" ;;
        "kafkabal top --every") spec="value" ;;
        "kafkabal top -b" | "kafkabal top --bootstrap-server") spec="value" ;;
        "kafkabal top --command-config") spec="files" ;;
        "kafkabal top --profile") spec="names profiles" ;;
        "kafkabal top --zookeeper") spec="value" ;;
        "kafkabal top --broker-timeout") spec="value" ;;
        "kafkabal top --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal top --tolerance") spec="value" ;;
        "kafkabal top --color") spec="words auto always never" ;;
        "kafkabal monitoring --out") spec="files" ;;
        "kafkabal monitoring --profile") spec="names profiles" ;;
        "kafkabal monitoring --full") spec="value" ;;
        "kafkabal monitoring --full-within") spec="value" ;;
        "kafkabal monitoring --blind-after") spec="value" ;;
        "kafkabal monitoring --webhook") spec="value" ;;
        "kafkabal monitoring --exporter") spec="value" ;;
        "kafkabal monitoring --alertmanager") spec="value" ;;
        "kafkabal monitoring --textfiles") spec="files" ;;
        "kafkabal monitoring --color") spec="words auto always never" ;;
        "kafkabal telemetry subscribe --name") spec="value" ;;
        "kafkabal telemetry subscribe --metric") spec="value" ;;
        "kafkabal telemetry subscribe --interval") spec="value" ;;
        "kafkabal telemetry subscribe --match") spec="value" ;;
        "kafkabal telemetry subscribe --topic") spec="names topics" ;;
        "kafkabal telemetry subscribe -b" | "kafkabal telemetry subscribe --bootstrap-server") spec="value" ;;
        "kafkabal telemetry subscribe --command-config") spec="files" ;;
        "kafkabal telemetry subscribe --profile") spec="names profiles" ;;
        "kafkabal telemetry subscribe --broker-timeout") spec="value" ;;
        "kafkabal telemetry subscribe --color") spec="words auto always never" ;;
        "kafkabal telemetry list -b" | "kafkabal telemetry list --bootstrap-server") spec="value" ;;
        "kafkabal telemetry list --command-config") spec="files" ;;
        "kafkabal telemetry list --profile") spec="names profiles" ;;
        "kafkabal telemetry list --broker-timeout") spec="value" ;;
        "kafkabal telemetry list -o" | "kafkabal telemetry list --output") spec="words table json yaml csv" ;;
        "kafkabal telemetry list --output-file") spec="files" ;;
        "kafkabal telemetry list --color") spec="words auto always never" ;;
        "kafkabal telemetry remove -b" | "kafkabal telemetry remove --bootstrap-server") spec="value" ;;
        "kafkabal telemetry remove --command-config") spec="files" ;;
        "kafkabal telemetry remove --profile") spec="names profiles" ;;
        "kafkabal telemetry remove --broker-timeout") spec="value" ;;
        "kafkabal telemetry remove --color") spec="words auto always never" ;;
        "kafkabal telemetry remove #*") spec="value" ;;
        "kafkabal telemetry plugin --libs") spec="files" ;;
        "kafkabal telemetry plugin --out") spec="files" ;;
        "kafkabal telemetry plugin --color") spec="words auto always never" ;;
        "kafkabal telemetry show --metric") spec="value" ;;
        "kafkabal telemetry show --top") spec="value" ;;
        "kafkabal telemetry show -b" | "kafkabal telemetry show --bootstrap-server") spec="value" ;;
        "kafkabal telemetry show --command-config") spec="files" ;;
        "kafkabal telemetry show --profile") spec="names profiles" ;;
        "kafkabal telemetry show --broker-timeout") spec="value" ;;
        "kafkabal telemetry show -o" | "kafkabal telemetry show --output") spec="words table json jsonl yaml csv" ;;
        "kafkabal telemetry show --output-file") spec="files" ;;
        "kafkabal telemetry show --topic") spec="names topics" ;;
        "kafkabal telemetry show --listen") spec="value" ;;
        "kafkabal telemetry show --for") spec="value" ;;
        "kafkabal telemetry show --last") spec="value" ;;
        "kafkabal telemetry show --color") spec="words auto always never" ;;
        "kafkabal telemetry errors -b" | "kafkabal telemetry errors --bootstrap-server") spec="value" ;;
        "kafkabal telemetry errors --command-config") spec="files" ;;
        "kafkabal telemetry errors --profile") spec="names profiles" ;;
        "kafkabal telemetry errors --broker-timeout") spec="value" ;;
        "kafkabal telemetry errors -o" | "kafkabal telemetry errors --output") spec="words table json yaml csv prometheus" ;;
        "kafkabal telemetry errors --output-file") spec="files" ;;
        "kafkabal telemetry errors --topic") spec="names topics" ;;
        "kafkabal telemetry errors --listen") spec="value" ;;
        "kafkabal telemetry errors --for") spec="value" ;;
        "kafkabal telemetry errors --last") spec="value" ;;
        "kafkabal telemetry errors --color") spec="words auto always never" ;;
        "kafkabal telemetry latency -b" | "kafkabal telemetry latency --bootstrap-server") spec="value" ;;
        "kafkabal telemetry latency --command-config") spec="files" ;;
        "kafkabal telemetry latency --profile") spec="names profiles" ;;
        "kafkabal telemetry latency --broker-timeout") spec="value" ;;
        "kafkabal telemetry latency -o" | "kafkabal telemetry latency --output") spec="words table json yaml csv prometheus" ;;
        "kafkabal telemetry latency --output-file") spec="files" ;;
        "kafkabal telemetry latency --topic") spec="names topics" ;;
        "kafkabal telemetry latency --listen") spec="value" ;;
        "kafkabal telemetry latency --for") spec="value" ;;
        "kafkabal telemetry latency --last") spec="value" ;;
        "kafkabal telemetry latency --color") spec="words auto always never" ;;
        "kafkabal doctor --for") spec="words inspect create rebalance watch telemetry" ;;
        "kafkabal doctor -b" | "kafkabal doctor --bootstrap-server") spec="value" ;;
        "kafkabal doctor --command-config") spec="files" ;;
        "kafkabal doctor --profile") spec="names profiles" ;;
        "kafkabal doctor --zookeeper") spec="value" ;;
        "kafkabal doctor --broker-timeout") spec="value" ;;
        "kafkabal doctor -o" | "kafkabal doctor --output") spec="words table json yaml csv markdown" ;;
        "kafkabal doctor --output-file") spec="files" ;;
        "kafkabal doctor --color") spec="words auto always never" ;;
        "kafkabal profiles list -o" | "kafkabal profiles list --output") spec="words table json yaml csv" ;;
        "kafkabal profiles list --output-file") spec="files" ;;
        "kafkabal profiles list --color") spec="words auto always never" ;;
        "kafkabal profiles show -o" | "kafkabal profiles show --output") spec="words table json yaml csv" ;;
        "kafkabal profiles show --output-file") spec="files" ;;
        "kafkabal profiles show --color") spec="words auto always never" ;;
        "kafkabal profiles show #0") spec="names profiles" ;;
        "kafkabal profiles use --color") spec="words auto always never" ;;
        "kafkabal profiles use #0") spec="names profiles" ;;
        "kafkabal profiles check -t" | "kafkabal profiles check --timeout") spec="value" ;;
        "kafkabal profiles check -o" | "kafkabal profiles check --output") spec="words table json yaml csv" ;;
        "kafkabal profiles check --output-file") spec="files" ;;
        "kafkabal profiles check --color") spec="words auto always never" ;;
        "kafkabal profiles check #*") spec="names profiles" ;;
        "kafkabal profiles add -b" | "kafkabal profiles add --bootstrap-server") spec="value" ;;
        "kafkabal profiles add --command-config") spec="files" ;;
        "kafkabal profiles add --zookeeper") spec="value" ;;
        "kafkabal profiles add --snapshot") spec="files" ;;
        "kafkabal profiles add --set") spec="value" ;;
        "kafkabal profiles add --color") spec="words auto always never" ;;
        "kafkabal profiles add #0") spec="names profiles" ;;
        "kafkabal config show -b" | "kafkabal config show --bootstrap-server") spec="value" ;;
        "kafkabal config show --command-config") spec="files" ;;
        "kafkabal config show --profile") spec="names profiles" ;;
        "kafkabal config show --snapshot") spec="files" ;;
        "kafkabal config show --zookeeper") spec="value" ;;
        "kafkabal config show --broker-timeout") spec="value" ;;
        "kafkabal config show --bootstrap-controller") spec="value" ;;
        "kafkabal config show --score") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal config show --tolerance") spec="value" ;;
        "kafkabal config show --count-capacity") spec="words equal disk" ;;
        "kafkabal config show --max-bytes") spec="value" ;;
        "kafkabal config show --max-moves") spec="value" ;;
        "kafkabal config show --max-leader-changes") spec="value" ;;
        "kafkabal config show --max-duration") spec="value" ;;
        "kafkabal config show --dead-after") spec="value" ;;
        "kafkabal config show --throttle") spec="words auto none" ;;
        "kafkabal config show --log-dir-throttle") spec="value" ;;
        "kafkabal config show --window") spec="value" ;;
        "kafkabal config show --topics") spec="list names topics" ;;
        "kafkabal config show --exclude-topics") spec="list names topics" ;;
        "kafkabal config show --exclude-brokers") spec="list names brokers" ;;
        "kafkabal config show -o" | "kafkabal config show --output") spec="words table json yaml csv" ;;
        "kafkabal config show --output-file") spec="files" ;;
        "kafkabal config show --color") spec="words auto always never" ;;
        "kafkabal completion install --color") spec="words auto always never" ;;
        "kafkabal completion install #0") spec="words bash zsh fish" ;;
        "kafkabal completion bash --color") spec="words auto always never" ;;
        "kafkabal completion zsh --color") spec="words auto always never" ;;
        "kafkabal completion fish --color") spec="words auto always never" ;;
        "kafkabal completion candidates --name") spec="value" ;;
        "kafkabal completion candidates --plan") spec="files" ;;
        "kafkabal completion candidates -b" | "kafkabal completion candidates --bootstrap-server") spec="value" ;;
        "kafkabal completion candidates --command-config") spec="files" ;;
        "kafkabal completion candidates --profile") spec="names profiles" ;;
        "kafkabal completion candidates --snapshot") spec="files" ;;
        "kafkabal completion candidates --zookeeper") spec="value" ;;
        "kafkabal completion candidates --color") spec="words auto always never" ;;
        "kafkabal completion candidates #0") spec="words topics brokers profiles sandboxes nodes partitions runs" ;;
        "kafkabal scores -b" | "kafkabal scores --bootstrap-server") spec="value" ;;
        "kafkabal scores --command-config") spec="files" ;;
        "kafkabal scores --profile") spec="names profiles" ;;
        "kafkabal scores --snapshot") spec="files" ;;
        "kafkabal scores --zookeeper") spec="value" ;;
        "kafkabal scores --broker-timeout") spec="value" ;;
        "kafkabal scores -o" | "kafkabal scores --output") spec="words table json yaml csv" ;;
        "kafkabal scores --output-file") spec="files" ;;
        "kafkabal scores --color") spec="words auto always never" ;;
        "kafkabal scores #*") spec="words disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus" ;;
        "kafkabal policies -o" | "kafkabal policies --output") spec="words table json yaml csv" ;;
        "kafkabal policies --output-file") spec="files" ;;
        "kafkabal policies --color") spec="words auto always never" ;;
        "kafkabal policies #*") spec="words random round-robin key-hash default sticky uniform-sticky adaptive join-idle-queue c3 prequal score smooth-weighted astraea rack-local power-of-d least-loaded pkg d-choices w-choices bounded-load" ;;
        "kafkabal snapshot import --out") spec="files" ;;
        "kafkabal snapshot import --topics") spec="files" ;;
        "kafkabal snapshot import --assignment") spec="files" ;;
        "kafkabal snapshot import --log-dirs") spec="files" ;;
        "kafkabal snapshot import --cluster-id") spec="names brokers" ;;
        "kafkabal snapshot import --color") spec="words auto always never" ;;
        "kafkabal help --color") spec="words auto always never" ;;
        "kafkabal help #*") spec="words inspect rebalance create advise produce read route-simulate route routing watch top monitoring telemetry doctor profiles config completion scores policies snapshot help sandbox demo add-brokers architecture commands dead-broker deploy executor exit-codes first-rebalance formats full-disk glossary growth java-producers many-clusters metrics nightly-rebalance output own-score package permissions planner python racks reader remove-a-broker simulate training-data" ;;
        "kafkabal sandbox up --name") spec="names sandboxes" ;;
        "kafkabal sandbox up --timeout") spec="value" ;;
        "kafkabal sandbox up --brokers") spec="value" ;;
        "kafkabal sandbox up --racks") spec="value" ;;
        "kafkabal sandbox up --log-dirs") spec="value" ;;
        "kafkabal sandbox up --capacity") spec="value" ;;
        "kafkabal sandbox up --controllers") spec="words 1 3 5" ;;
        "kafkabal sandbox up --kafka-version") spec="words 3.9.2 4.1.2 4.3.1 4.4.0" ;;
        "kafkabal sandbox up --replicas") spec="value" ;;
        "kafkabal sandbox up --heap") spec="value" ;;
        "kafkabal sandbox up --property") spec="value" ;;
        "kafkabal sandbox up --broker-property") spec="value" ;;
        "kafkabal sandbox up --listener") spec="value" ;;
        "kafkabal sandbox up --class-path") spec="files" ;;
        "kafkabal sandbox up -o" | "kafkabal sandbox up --output") spec="words table json yaml" ;;
        "kafkabal sandbox up --output-file") spec="files" ;;
        "kafkabal sandbox up --color") spec="words auto always never" ;;
        "kafkabal sandbox status --name") spec="names sandboxes" ;;
        "kafkabal sandbox status -o" | "kafkabal sandbox status --output") spec="words table json yaml" ;;
        "kafkabal sandbox status --output-file") spec="files" ;;
        "kafkabal sandbox status --color") spec="words auto always never" ;;
        "kafkabal sandbox logs --name") spec="names sandboxes" ;;
        "kafkabal sandbox logs -n" | "kafkabal sandbox logs --lines") spec="value" ;;
        "kafkabal sandbox logs --color") spec="words auto always never" ;;
        "kafkabal sandbox logs #0") spec="names nodes" ;;
        "kafkabal sandbox kill --name") spec="names sandboxes" ;;
        "kafkabal sandbox kill --color") spec="words auto always never" ;;
        "kafkabal sandbox kill #*") spec="names nodes" ;;
        "kafkabal sandbox pause --name") spec="names sandboxes" ;;
        "kafkabal sandbox pause --color") spec="words auto always never" ;;
        "kafkabal sandbox pause #*") spec="names nodes" ;;
        "kafkabal sandbox start --name") spec="names sandboxes" ;;
        "kafkabal sandbox start --color") spec="words auto always never" ;;
        "kafkabal sandbox start #*") spec="names nodes" ;;
        "kafkabal sandbox stop --name") spec="names sandboxes" ;;
        "kafkabal sandbox stop --color") spec="words auto always never" ;;
        "kafkabal sandbox stop #*") spec="names nodes" ;;
        "kafkabal sandbox down --name") spec="names sandboxes" ;;
        "kafkabal sandbox down --color") spec="words auto always never" ;;
        "kafkabal demo --color") spec="words auto always never" ;;
        *) spec= ;;
    esac
}

# keep the options that choose the cluster, sandbox or plan whose names are completed
_kafkabal_note() {
    case "$1" in
        -b | --bootstrap-server | --command-config | --profile | --snapshot | --zookeeper | --name)
            asked+=("$1" "$2") ;;
    esac
}

# tokens=  the words of the line $1 without quotes and backslashes; the last one is being typed
_kafkabal_split() {
    local line=$1 word= quote= begun= char i
    tokens=()
    for ((i = 0; i < ${#line}; i++)); do
        char=${line:i:1}
        if [[ $char == \\ && $quote != "'" ]]; then
            i=$((i + 1)) begun=1
            word+=${line:i:1}
        elif [[ -n $quote ]]; then
            if [[ $char == "$quote" ]]; then quote=; else word+=$char; fi
        elif [[ $char == "'" || $char == '"' ]]; then
            quote=$char begun=1
        elif [[ $char == [[:space:]] ]]; then
            [[ -n $word$begun ]] && tokens+=("$word")
            word= begun=
        else
            word+=$char
        fi
    done
    tokens+=("$word")
}

_kafkabal() {
    local line=${COMP_LINE:0:COMP_POINT} command=kafkabal option= spec= words= position=0 prefix= word i
    local tokens=() asked=()
    _kafkabal_split "$line"
    local last=$((${#tokens[@]} - 1)) current
    current=${tokens[last]}
    COMPREPLY=()
    for ((i = 1; i < last; i++)); do
        word=${tokens[i]}
        if [[ -n $option ]]; then
            _kafkabal_note "$option" "$word"
            option=
            continue
        fi
        case "$word" in
            --*=*) _kafkabal_note "${word%%=*}" "${word#*=}" ;;
            -*) _kafkabal_spec "$command" "$word"; [[ -n $spec ]] && option=$word ;;
            *)
                _kafkabal_words "$command $word"
                if [[ -n $words ]]; then
                    command="$command $word"
                else
                    [[ -f $word ]] && asked+=(--plan "$word")
                    position=$((position + 1))
                fi ;;
        esac
    done
    if [[ -n $option ]]; then
        _kafkabal_spec "$command" "$option"
    elif [[ $current == --*=* ]]; then
        _kafkabal_spec "$command" "${current%%=*}"
        prefix=${current%%=*}=
        current=${current#*=}
    elif [[ $current == -* ]]; then
        _kafkabal_words "$command"
        spec="words ${words#*|}"
    else
        _kafkabal_words "$command"
        _kafkabal_spec "$command" "#$position"
        [[ -n $spec ]] || _kafkabal_spec "$command" "#*"
        [[ -n $spec ]] || spec="words ${words%%|*}"
    fi
    local kept= typed="$prefix$current" listed=
    if [[ $spec == list\ * ]]; then
        spec=${spec#list }
        listed=,${current%"${current##*,}"}
        prefix=$prefix${current%"${current##*,}"}
        current=${current##*,}
    fi
    # readline replaces only what follows the last character that breaks words
    local breaks=${COMP_WORDBREAKS//[^=:]/}
    [[ -n $breaks ]] && kept=${typed%"${typed##*[$breaks]}"}
    case "$spec" in
        words\ *)
            for word in ${spec#words }; do
                [[ $word == "$current"* ]] && COMPREPLY+=("$prefix$word")
            done ;;
        files)
            compopt -o filenames 2> /dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
            return ;;
        names\ *)
            local ask=(kafkabal completion candidates "${spec#names }")
            while IFS= read -r word; do
                [[ $word == "$current"* && $listed != *,"$word",* ]] && COMPREPLY+=("$prefix$word")
            done < <("${ask[@]}" ${asked[@]+"${asked[@]}"} 2> /dev/null < /dev/null) ;;
    esac
    for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
        COMPREPLY[i]=${COMPREPLY[i]#"$kept"}
    done
}

complete -F _kafkabal kafkabal
