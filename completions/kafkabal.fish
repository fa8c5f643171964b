# fish completion for kafkabal. Generated: change the commands, then run  python -m tools.reference
# Commands, options and fixed words are in this file; names (topics, profiles, ...) come from kafkabal itself.

# the command that the words typed so far lead to, and how many arguments follow it
function __kafkabal_place
    set -l found kafkabal
    set -l arguments 0
    set -l is_value 0
    for word in (commandline -opc)[2..-1]
        if test $is_value = 1
            set is_value 0
        else if string match -q -- '-*' $word
            contains -- $word $__kafkabal_valued; and set is_value 1
        else if contains -- "$found $word" $__kafkabal_commands
            set found "$found $word"
        else
            set arguments (math $arguments + 1)
        end
    end
    echo $found
    echo $arguments
end

# whether they lead to exactly this command
function __kafkabal_at
    test (__kafkabal_place)[1] = "$argv"
end

# whether they lead to this command and its argument of this number
function __kafkabal_argument
    set -l place (__kafkabal_place)
    test $place[1] = "$argv[2..-1]"; and test $place[2] = $argv[1]
end

function __kafkabal_names
    set -l asked
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        switch $words[$i]
            case -b --bootstrap-server --command-config --profile --snapshot --zookeeper --name
                test $i -lt (count $words); and set -a asked $words[$i] $words[(math $i + 1)]
            case '--bootstrap-server=*' '--command-config=*' '--profile=*' '--snapshot=*' '--zookeeper=*' '--name=*'
                set -a asked $words[$i]
            case '*'
                test -f $words[$i]; and set -a asked --plan $words[$i]
        end
    end
    kafkabal completion candidates $argv[1] $asked 2>/dev/null </dev/null
end

# the same after what was typed up to the last comma
function __kafkabal_list
    set -l typed (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    set -l before (string match -r '^.*,' -- $typed)
    for name in (__kafkabal_names $argv[1])
        contains -- $name (string split ',' -- $before); or echo "$before$name"
    end
end

set -g __kafkabal_commands \
    'kafkabal inspect' \
    'kafkabal inspect diff' \
    'kafkabal rebalance' \
    'kafkabal rebalance plan' \
    'kafkabal rebalance show' \
    'kafkabal rebalance diff' \
    'kafkabal rebalance explain' \
    'kafkabal rebalance apply' \
    'kafkabal rebalance simulate' \
    'kafkabal rebalance status' \
    'kafkabal rebalance pause' \
    'kafkabal rebalance resume' \
    'kafkabal rebalance cancel' \
    'kafkabal rebalance rollback' \
    'kafkabal rebalance throttle' \
    'kafkabal rebalance history' \
    'kafkabal rebalance repair' \
    'kafkabal rebalance adopt' \
    'kafkabal create' \
    'kafkabal advise' \
    'kafkabal produce' \
    'kafkabal read' \
    'kafkabal route-simulate' \
    'kafkabal route' \
    'kafkabal routing' \
    'kafkabal routing plugin' \
    'kafkabal watch' \
    'kafkabal top' \
    'kafkabal monitoring' \
    'kafkabal telemetry' \
    'kafkabal telemetry subscribe' \
    'kafkabal telemetry list' \
    'kafkabal telemetry remove' \
    'kafkabal telemetry plugin' \
    'kafkabal telemetry show' \
    'kafkabal telemetry errors' \
    'kafkabal telemetry latency' \
    'kafkabal doctor' \
    'kafkabal profiles' \
    'kafkabal profiles list' \
    'kafkabal profiles show' \
    'kafkabal profiles use' \
    'kafkabal profiles check' \
    'kafkabal profiles add' \
    'kafkabal config' \
    'kafkabal config show' \
    'kafkabal completion' \
    'kafkabal completion install' \
    'kafkabal completion bash' \
    'kafkabal completion zsh' \
    'kafkabal completion fish' \
    'kafkabal completion candidates' \
    'kafkabal scores' \
    'kafkabal policies' \
    'kafkabal snapshot' \
    'kafkabal snapshot import' \
    'kafkabal help' \
    'kafkabal sandbox' \
    'kafkabal sandbox up' \
    'kafkabal sandbox status' \
    'kafkabal sandbox logs' \
    'kafkabal sandbox kill' \
    'kafkabal sandbox pause' \
    'kafkabal sandbox start' \
    'kafkabal sandbox stop' \
    'kafkabal sandbox down' \
    'kafkabal demo'

set -g __kafkabal_valued \
    '--alertmanager' \
    '--allow' \
    '--assignment' \
    '--below' \
    '--blind-after' \
    '--bootstrap-controller' \
    '--bootstrap-server' \
    '--broker' \
    '--broker-limit' \
    '--broker-property' \
    '--broker-timeout' \
    '--brokers' \
    '--by' \
    '--bytes' \
    '--cache' \
    '--cache-bytes' \
    '--capacity' \
    '--case' \
    '--chunk' \
    '--class-path' \
    '--cluster-id' \
    '--cluster-timeout' \
    '--color' \
    '--command-config' \
    '--config' \
    '--controllers' \
    '--count-capacity' \
    '--critical' \
    '--data' \
    '--days' \
    '--dead-after' \
    '--drain' \
    '--every' \
    '--exclude' \
    '--exclude-brokers' \
    '--exclude-topics' \
    '--exporter' \
    '--file' \
    '--for' \
    '--format' \
    '--full' \
    '--full-within' \
    '--heal' \
    '--heap' \
    '--include' \
    '--interval' \
    '--journal' \
    '--kafka-version' \
    '--keep-moved' \
    '--key' \
    '--label' \
    '--last' \
    '--libs' \
    '--limit' \
    '--lines' \
    '--listen' \
    '--listener' \
    '--log-dir-throttle' \
    '--log-dirs' \
    '--manifest' \
    '--match' \
    '--max-actions-per-day' \
    '--max-bytes' \
    '--max-bytes-per-day' \
    '--max-cross-rack-bytes' \
    '--max-dead' \
    '--max-duration' \
    '--max-leader-changes' \
    '--max-moves' \
    '--max-runtime' \
    '--metric' \
    '--move-after' \
    '--moves-per-broker' \
    '--name' \
    '--notify' \
    '--on-interrupt' \
    '--on-unfinished' \
    '--out' \
    '--output' \
    '--output-file' \
    '--over' \
    '--partition-bytes' \
    '--partitions' \
    '--placement' \
    '--plan' \
    '--plan-for' \
    '--plot' \
    '--policy' \
    '--prefetch' \
    '--preset' \
    '--price-per-gb' \
    '--producer-config' \
    '--profile' \
    '--prometheus' \
    '--prometheus-label' \
    '--prometheus-query' \
    '--property' \
    '--rack' \
    '--rack-level' \
    '--racks' \
    '--read-ahead' \
    '--readers' \
    '--rebalance-above' \
    '--records' \
    '--refresh' \
    '--replicas' \
    '--replication-factor' \
    '--rollback-file' \
    '--sample' \
    '--save' \
    '--score' \
    '--seeds' \
    '--set' \
    '--slow' \
    '--snapshot' \
    '--storage' \
    '--target' \
    '--telemetry' \
    '--textfile' \
    '--textfiles' \
    '--throttle' \
    '--timeout' \
    '--to' \
    '--tolerance' \
    '--top' \
    '--topic' \
    '--topics' \
    '--training' \
    '--transform' \
    '--valid-for' \
    '--value' \
    '--wait' \
    '--warning' \
    '--webhook' \
    '--what-if' \
    '--window' \
    '--workload' \
    '--zookeeper' \
    '-b' \
    '-c' \
    '-f' \
    '-n' \
    '-o' \
    '-p' \
    '-r' \
    '-t' \
    '-w'

complete -c kafkabal -f

complete -c kafkabal -n '__kafkabal_at kafkabal' -a inspect -d 'Show load imbalance, worst first.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a rebalance -d 'Rebalance partitions across brokers, under a throttle.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a create -d 'Create topics on the least loaded brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a advise -d 'Advise how many brokers suffice, and how to free a full disk.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a produce -d 'Produce files or rows to the least loaded brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a read -d 'Read a topic: measure the rate, restore its files, or follow it.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a route-simulate -d 'Simulate how routing policies would distribute a workload.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a route -d 'Show routing weights, and publish them for Java producers.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a routing -d 'Build the partitioner for Java producers.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a watch -d 'Detect slow and dead brokers and imbalance; heal what --heal allows.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a top -d 'Show brokers, moves and events in a live view.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a monitoring -d 'Write monitoring files for Prometheus and Grafana.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a telemetry -d 'Collect client metrics for latency-aware routing (KIP-714).'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a doctor -d 'Check whether kafkabal can work on a cluster, and change nothing.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a profiles -d 'List, show, check and add the profiles of clusters.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a config -d 'Show the settings in force, and where each comes from.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a completion -d 'Set up shell completion for bash, zsh and fish.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a scores -d 'List scores: what each measures and needs.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a policies -d 'List routing policies: how each decides and what it needs.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a snapshot -d 'Import snapshots from the output of Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a help -d 'Show the help of a command, or a page of the documentation.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a sandbox -d 'Run a real Apache Kafka cluster on this machine.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a demo -d 'Inspect and rebalance an unbalanced cluster in a sandbox (usually under a minute).'
complete -c kafkabal -n '__kafkabal_at kafkabal' -l version -d 'Show the version.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -a diff -d 'Show what differs between two snapshots.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l by -r -f -a 'broker log-dir rack topic partition' -d 'Show rows by. [default: broker; with several clusters: one row per cluster]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l top -r -f -d 'Number of rows to show, 0 for all. [default: 20 topics or partitions]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l sample -r -f -d 'Sample twice, TIME apart, to measure rates.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l save -r -F -d 'Save a snapshot of the cluster; compressed if FILE ends in .gz; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l cluster-timeout -r -f -d 'With several clusters: timeout for each. [default: 1m]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, a pattern such as \'prod-*\', FILE or FILE#NAME. Repeat for several clusters.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l all-profiles -d 'Read the clusters of all profiles.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l topics -r -f -a '(__kafkabal_names topics)' -d 'With several clusters: show where matching topics are, and how far mirrors lag behind. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to show (see \'kafkabal scores\'), or package.module:object. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 10%]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s o -l output -r -f -a 'table json jsonl yaml csv markdown html prometheus' -d 'Output format: table, json, jsonl, yaml, csv, markdown, html, prometheus. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l check -d 'Exit 3 if the cluster is imbalanced or broken.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l nagios -d 'Monitoring plugin: one line of output, exit 0 to 3.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s w -l warning -r -f -d 'Warning threshold for --nagios. [default: 10%]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s c -l critical -r -f -d 'Critical threshold for --nagios. [default: 25%]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s t -l timeout -r -f -d 'With --nagios: CRITICAL if the check takes longer than TIME; a bare number means seconds. [default: 30s]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l record -d 'Record bytes and offsets in the state folder.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l growth -d 'Show growth and when disks will be full, --by broker, log-dir or topic; needs --record before.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l over -r -f -d 'With --growth: how far to look back. [default: 7d]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l full-within -r -f -d 'With --growth: exit 3 if a disk will be full within TIME.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l rack-level -r -f -d 'With --by rack: group by the first N parts of racks such as dc1/row2/r7; at least 1.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l price-per-gb -r -f -d 'With --by rack: price of 10^9 bytes across racks, to show a cost per month.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l telemetry -r -f -a 'topic' -d 'Source of produce latencies: \'topic\' (pushed by all clients) or [HOST:]PORT (OTLP/HTTP receiver).'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l prometheus -r -f -d 'Prometheus server for the score \'prometheus\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l prometheus-query -r -f -d 'PromQL query that returns one series per broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l prometheus-label -r -f -d 'Label whose value ends in the broker id. [default: broker]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal inspect diff' -F
complete -c kafkabal -n '__kafkabal_argument 1 kafkabal inspect diff' -F
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -l all -d 'List all topics and partitions, not only 20.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to show (see \'kafkabal scores\'), or package.module:object. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 10%]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -s o -l output -r -f -a 'table json yaml csv markdown' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect diff' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a plan -d 'Make a plan; change nothing.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a show -d 'Show what a plan file moves, partition by partition.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a diff -d 'Show how two plans differ, partition by partition.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a explain -d 'Explain why a plan moves a partition, or why it does not move one to a broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a apply -d 'Apply a plan file.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a simulate -d 'Simulate \'kafkabal watch\' on this cluster for months: growth, noise, failures and new brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a status -d 'Show the status of the latest run.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a pause -d 'Pause the active run, from any host.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a resume -d 'Resume the latest interrupted or paused run.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a cancel -d 'Cancel the latest run\'s reassignments in flight and restore its throttles.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a rollback -d 'Roll back a run.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a throttle -d 'Change the throttle of the active run, from any host.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a history -d 'List earlier runs, from the cluster\'s record and this host\'s journals.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a repair -d 'Restore throttles that earlier runs left; list those of unknown origin.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -a adopt -d 'List, throttle, finish or cancel reassignments of another tool.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l all -d 'List all partitions, not only the first 20.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l bootstrap-controller -r -f -d 'KRaft controllers; needed to change configs of dead brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to balance by (see \'kafkabal scores\'), or package.module:object. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 9%]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l count-capacity -r -f -a 'equal disk' -d 'Target replica and leader counts per broker: \'equal\', or proportional to \'disk\'. [default: equal]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l max-bytes -r -f -d 'Maximum bytes to move between brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l max-moves -r -f -d 'Maximum replicas to move.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l max-leader-changes -r -f -d 'Maximum leader changes; followers move instead.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l max-duration -r -f -d 'Maximum duration of the moves at the throttle.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l dead-after -r -f -d 'How long a broker must have been dead before its replicas are copied elsewhere; 0: now. [default: 10m]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l throttle -r -f -a 'auto none' -d 'Replication throttle per broker: a rate, \'auto\' or \'none\'. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l log-dir-throttle -r -f -d 'Throttle for moves between log dirs of one broker. [default: as --throttle]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l window -r -f -d 'Only move data in this time window, local time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l topics -r -f -a '(__kafkabal_list topics)' -d 'Only topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l exclude-topics -r -f -a '(__kafkabal_list topics)' -d 'Do not move topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l exclude-brokers -r -f -a '(__kafkabal_list brokers)' -d 'Brokers that receive no replicas or leaders.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l include-internal -d 'Also balance internal topics.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l drain -r -f -a '(__kafkabal_list brokers)' -d 'Move all replicas and leaders off these brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l repair-only -d 'Repair only: dead brokers, offline log dirs, racks.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l leaders-only -d 'Only change leaders; move no data.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l log-dirs-only -d 'Only move data between log dirs of the same broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l only-to-new -d 'Copy data only to brokers without data.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l below -r -f -d 'Only move data off brokers above this disk usage.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l max-cross-rack-bytes -r -f -d 'Maximum bytes to copy from a leader in another rack.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l broker-limit -r -f -d 'Maximum replicas and bytes of a broker. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l keep-moved -r -F -d 'Keep replicas where an earlier plan moved them: a plan file or a folder of plans. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l replication-factor -r -f -d 'Change the replication factor; at least 1.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l max-runtime -r -f -d 'Stop gracefully after TIME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l override-throttle -d 'Replace existing lower throttles.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l on-interrupt -r -f -a 'cancel finish detach' -d 'Moves in flight on Ctrl-C or SIGTERM: cancel, finish, or leave them with their throttle (detach). [default: cancel]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l moves-per-broker -r -f -d 'Maximum concurrent moves per broker, in and out; at least 1. [default: 10]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l one-replica-at-a-time -d 'Replace replicas one at a time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l yes -d 'Do not prompt; required without a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l dry-run -d 'Show the requests that would be sent; change nothing.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l exit-code -d 'With --dry-run: exit 3 if there is something to do.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l allow -r -f -a 'other-reassignments recently-dead offline-partitions under-replicated replication-factor rack-spread closed-target throttle' -d 'Preflight check to override. Repeatable. One of: other-reassignments, recently-dead, offline-partitions, under-replicated, replication-factor, rack-spread, closed-target, throttle.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l force -d 'Override every preflight check that can be overridden.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l on-unfinished -r -f -a 'resume refuse' -d 'With --yes: how to handle a crashed earlier run of this host. [default: resume]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l rollback-file -r -F -d 'Also write the rollback plan to FILE.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -s o -l output -r -f -a 'table json jsonl' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l notify -r -f -d 'Post every event to Alertmanager (/api/v2/alerts), Slack or a webhook.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l save -r -F -d 'With --snapshot: write the changed snapshot to FILE; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l telemetry -r -f -a 'topic' -d 'Source of produce latencies: \'topic\' (pushed by all clients) or [HOST:]PORT (OTLP/HTTP receiver).'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l prometheus -r -f -d 'Prometheus server for the score \'prometheus\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l prometheus-query -r -f -d 'PromQL query that returns one series per broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l prometheus-label -r -f -d 'Label whose value ends in the broker id. [default: broker]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l check -d 'With --drain: show whether the brokers can be drained; exit 4 if not.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l wait -r -f -d 'How long to wait while another kafkabal works on the cluster. [default: exit 75 at once]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l out -r -F -d 'Write the plan to FILE, for \'rebalance apply\'; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l all -d 'List all partitions, not only the first 20.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l plan-for -r -f -d 'Balance the cluster as it will be after TIME, by its history (\'inspect --record\').'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l frontier -d 'Show the trade-off between bytes moved and tolerance; write no plan.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l what-if -r -f -d 'Simulate adding (add=ID:RACK:SIZE) or removing (remove=ID) brokers; write no plan. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to balance by (see \'kafkabal scores\'), or package.module:object. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 9%]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l count-capacity -r -f -a 'equal disk' -d 'Target replica and leader counts per broker: \'equal\', or proportional to \'disk\'. [default: equal]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l max-bytes -r -f -d 'Maximum bytes to move between brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l max-moves -r -f -d 'Maximum replicas to move.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l max-leader-changes -r -f -d 'Maximum leader changes; followers move instead.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l max-duration -r -f -d 'Maximum duration of the moves at the throttle.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l throttle -r -f -a 'auto none' -d 'Throttle per broker, to predict how long copies take.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l topics -r -f -a '(__kafkabal_list topics)' -d 'Only topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l exclude-topics -r -f -a '(__kafkabal_list topics)' -d 'Do not move topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l exclude-brokers -r -f -a '(__kafkabal_list brokers)' -d 'Brokers that receive no replicas or leaders.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l include-internal -d 'Also balance internal topics.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l drain -r -f -a '(__kafkabal_list brokers)' -d 'Move all replicas and leaders off these brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l repair-only -d 'Repair only: dead brokers, offline log dirs, racks.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l leaders-only -d 'Only change leaders; move no data.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l log-dirs-only -d 'Only move data between log dirs of the same broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l only-to-new -d 'Copy data only to brokers without data.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l below -r -f -d 'Only move data off brokers above this disk usage.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l max-cross-rack-bytes -r -f -d 'Maximum bytes to copy from a leader in another rack.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l broker-limit -r -f -d 'Maximum replicas and bytes of a broker. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l keep-moved -r -F -d 'Keep replicas where an earlier plan moved them: a plan file or a folder of plans. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l replication-factor -r -f -d 'Change the replication factor; at least 1.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -s o -l output -r -f -a 'table json yaml csv markdown html' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l telemetry -r -f -a 'topic' -d 'Source of produce latencies: \'topic\' (pushed by all clients) or [HOST:]PORT (OTLP/HTTP receiver).'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l prometheus -r -f -d 'Prometheus server for the score \'prometheus\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l prometheus-query -r -f -d 'PromQL query that returns one series per broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l prometheus-label -r -f -d 'Label whose value ends in the broker id. [default: broker]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance plan' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal rebalance show' -F
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance show' -l all -d 'List all partitions, not only the first 20.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance show' -s o -l output -r -f -a 'table json yaml csv markdown html' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance show' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance show' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance show' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance show' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance show' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance show' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal rebalance diff' -F
complete -c kafkabal -n '__kafkabal_argument 1 kafkabal rebalance diff' -F
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance diff' -l all -d 'List all partitions, not only the first 20.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance diff' -s o -l output -r -f -a 'table json yaml csv markdown html' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance diff' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance diff' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance diff' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance diff' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance diff' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance diff' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal rebalance explain' -F
complete -c kafkabal -n '__kafkabal_argument 1 kafkabal rebalance explain' -a '(__kafkabal_names partitions)'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l why-not -d 'Explain why a plan does not move PARTITION to BROKER.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to balance by (see \'kafkabal scores\'), or package.module:object. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 9%]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l count-capacity -r -f -a 'equal disk' -d 'Target replica and leader counts per broker: \'equal\', or proportional to \'disk\'. [default: equal]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l max-bytes -r -f -d 'Maximum bytes to move between brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l max-moves -r -f -d 'Maximum replicas to move.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l max-leader-changes -r -f -d 'Maximum leader changes; followers move instead.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l max-duration -r -f -d 'Maximum duration of the moves at the throttle.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l throttle -r -f -a 'auto none' -d 'Throttle per broker, to predict how long copies take.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l topics -r -f -a '(__kafkabal_list topics)' -d 'Only topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l exclude-topics -r -f -a '(__kafkabal_list topics)' -d 'Do not move topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l exclude-brokers -r -f -a '(__kafkabal_list brokers)' -d 'Brokers that receive no replicas or leaders.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l include-internal -d 'Also balance internal topics.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l drain -r -f -a '(__kafkabal_list brokers)' -d 'Move all replicas and leaders off these brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l repair-only -d 'Repair only: dead brokers, offline log dirs, racks.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l leaders-only -d 'Only change leaders; move no data.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l log-dirs-only -d 'Only move data between log dirs of the same broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l only-to-new -d 'Copy data only to brokers without data.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l below -r -f -d 'Only move data off brokers above this disk usage.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l max-cross-rack-bytes -r -f -d 'Maximum bytes to copy from a leader in another rack.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l broker-limit -r -f -d 'Maximum replicas and bytes of a broker. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l keep-moved -r -F -d 'Keep replicas where an earlier plan moved them: a plan file or a folder of plans. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l replication-factor -r -f -d 'Change the replication factor; at least 1.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -s o -l output -r -f -a 'table json yaml' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance explain' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal rebalance apply' -F
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l skip-drifted -d 'Skip partitions that have changed since planning.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l bootstrap-controller -r -f -d 'KRaft controllers; needed to change configs of dead brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l dead-after -r -f -d 'How long a broker must have been dead before its replicas are copied elsewhere; 0: now. [default: 10m]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l throttle -r -f -a 'auto none' -d 'Replication throttle per broker: a rate, \'auto\' or \'none\'. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l log-dir-throttle -r -f -d 'Throttle for moves between log dirs of one broker. [default: as --throttle]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l window -r -f -d 'Only move data in this time window, local time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l max-runtime -r -f -d 'Stop gracefully after TIME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l override-throttle -d 'Replace existing lower throttles.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l on-interrupt -r -f -a 'cancel finish detach' -d 'Moves in flight on Ctrl-C or SIGTERM: cancel, finish, or leave them with their throttle (detach). [default: cancel]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l moves-per-broker -r -f -d 'Maximum concurrent moves per broker, in and out; at least 1. [default: 10]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l one-replica-at-a-time -d 'Replace replicas one at a time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l yes -d 'Do not prompt; required without a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l dry-run -d 'Show the requests that would be sent; change nothing.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l exit-code -d 'With --dry-run: exit 3 if there is something to do.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l allow -r -f -a 'other-reassignments recently-dead offline-partitions under-replicated replication-factor rack-spread closed-target throttle' -d 'Preflight check to override. Repeatable. One of: other-reassignments, recently-dead, offline-partitions, under-replicated, replication-factor, rack-spread, closed-target, throttle.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l force -d 'Override every preflight check that can be overridden.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l on-unfinished -r -f -a 'resume refuse' -d 'With --yes: how to handle a crashed earlier run of this host. [default: resume]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l rollback-file -r -F -d 'Also write the rollback plan to FILE.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -s o -l output -r -f -a 'table json jsonl' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l notify -r -f -d 'Post every event to Alertmanager (/api/v2/alerts), Slack or a webhook.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l save -r -F -d 'With --snapshot: write the changed snapshot to FILE; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l wait -r -f -d 'How long to wait while another kafkabal works on the cluster. [default: exit 75 at once]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance apply' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l case -r -F -d 'YAML file with growth, failures and new brokers. [required]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l days -r -f -d 'Simulated days; 1 to 3,650. [default: 90]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l check -d 'Exit 3 if a promise is broken.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -s o -l output -r -f -a 'table json jsonl yaml csv markdown' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance simulate' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l journal -r -F -d 'Journal of the run, if not the latest one of this host.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l watch -d 'Print progress every 5 seconds until the run ends.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -s o -l output -r -f -a 'table json yaml' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance status' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -l wait -r -f -d 'How long to wait for the run to follow the request. [default: 1m]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance pause' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l journal -r -F -d 'Journal of the run, if not the latest one of this host.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l yes -d 'Do not prompt; required without a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l bootstrap-controller -r -f -d 'KRaft controllers; needed to change configs of dead brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l throttle -r -f -a 'auto none' -d 'Replication throttle per broker: a rate, \'auto\' or \'none\'. [default: that of the run]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l log-dir-throttle -r -f -d 'Throttle for moves between log dirs of one broker. [default: as --throttle]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l window -r -f -d 'Only move data in this time window, local time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l max-runtime -r -f -d 'Stop gracefully after TIME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l override-throttle -d 'Replace existing lower throttles.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l on-interrupt -r -f -a 'cancel finish detach' -d 'Moves in flight on Ctrl-C or SIGTERM: cancel, finish, or leave them with their throttle (detach). [default: cancel]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l moves-per-broker -r -f -d 'Maximum concurrent moves per broker, in and out; at least 1. [default: 10]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l one-replica-at-a-time -d 'Replace replicas one at a time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -s o -l output -r -f -a 'table json jsonl' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l notify -r -f -d 'Post every event to Alertmanager (/api/v2/alerts), Slack or a webhook.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l save -r -F -d 'With --snapshot: write the changed snapshot to FILE; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l wait -r -f -d 'How long to wait while another kafkabal works on the cluster. [default: exit 75 at once]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance resume' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l journal -r -F -d 'Journal of the run, if not the latest one of this host.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l yes -d 'Do not prompt where --save overwrites the snapshot that is read.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l wait -r -f -d 'How long to wait for the run to follow the request. [default: 1m]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l bootstrap-controller -r -f -d 'KRaft controllers; needed to change configs of dead brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -s o -l output -r -f -a 'table json jsonl' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l notify -r -f -d 'Post every event to Alertmanager (/api/v2/alerts), Slack or a webhook.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l save -r -F -d 'With --snapshot: write the changed snapshot to FILE; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance cancel' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal rebalance rollback' -a '(__kafkabal_names runs)'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l journal -r -F -d 'Journal of the run, if not the latest one of this host.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l yes -d 'Do not prompt; required without a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l dry-run -d 'Show what would move; change nothing.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l bootstrap-controller -r -f -d 'KRaft controllers; needed to change configs of dead brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l throttle -r -f -a 'auto none' -d 'Replication throttle per broker: a rate, \'auto\' or \'none\'. [default: that of the run]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l log-dir-throttle -r -f -d 'Throttle for moves between log dirs of one broker. [default: as --throttle]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l window -r -f -d 'Only move data in this time window, local time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l max-runtime -r -f -d 'Stop gracefully after TIME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l override-throttle -d 'Replace existing lower throttles.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l on-interrupt -r -f -a 'cancel finish detach' -d 'Moves in flight on Ctrl-C or SIGTERM: cancel, finish, or leave them with their throttle (detach). [default: cancel]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l moves-per-broker -r -f -d 'Maximum concurrent moves per broker, in and out; at least 1. [default: 10]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l one-replica-at-a-time -d 'Replace replicas one at a time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -s o -l output -r -f -a 'table json jsonl' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l notify -r -f -d 'Post every event to Alertmanager (/api/v2/alerts), Slack or a webhook.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l save -r -F -d 'With --snapshot: write the changed snapshot to FILE; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l wait -r -f -d 'How long to wait while another kafkabal works on the cluster. [default: exit 75 at once]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance rollback' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal rebalance throttle' -a 'auto'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -l log-dir-throttle -r -f -d 'Throttle for moves between log dirs of one broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance throttle' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -l last -r -f -d 'Only runs that began within TIME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -s o -l output -r -f -a 'table json yaml csv markdown' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance history' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l journal -r -F -d 'Journal of the run, if not the latest one of this host.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l remove -d 'Also delete throttles that no known run has set.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l yes -d 'Do not prompt; required without a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l bootstrap-controller -r -f -d 'KRaft controllers; needed to change configs of dead brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -s o -l output -r -f -a 'table json jsonl' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l notify -r -f -d 'Post every event to Alertmanager (/api/v2/alerts), Slack or a webhook.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l wait -r -f -d 'How long to wait while another kafkabal works on the cluster. [default: exit 75 at once]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance repair' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l finish -d 'Take over these reassignments and wait until they have finished.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l cancel -d 'Take over these reassignments and cancel them.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l remove-throttles -d 'At the end, delete the throttles that the brokers and topics of these reassignments have now.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l yes -d 'Do not prompt; required without a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l bootstrap-controller -r -f -d 'KRaft controllers; needed to change configs of dead brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l throttle -r -f -a 'auto none' -d 'Replication throttle per broker: a rate, \'auto\' or \'none\'. [default: none]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l log-dir-throttle -r -f -d 'Throttle for moves between log dirs of one broker. [default: as --throttle]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l window -r -f -d 'Only move data in this time window, local time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l max-runtime -r -f -d 'Stop gracefully after TIME.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l override-throttle -d 'Replace existing lower throttles.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l on-interrupt -r -f -a 'cancel finish detach' -d 'Moves in flight on Ctrl-C or SIGTERM: cancel, finish, or leave them with their throttle (detach). [default: cancel]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l moves-per-broker -r -f -d 'Maximum concurrent moves per broker, in and out; at least 1. [default: 10]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l one-replica-at-a-time -d 'Replace replicas one at a time.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -s o -l output -r -f -a 'table json jsonl' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l notify -r -f -d 'Post every event to Alertmanager (/api/v2/alerts), Slack or a webhook.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal rebalance adopt' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal create' -a '(__kafkabal_names topics)'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l placement -r -f -a 'score even brokers+2 binomial:0.5' -d 'How leaders are spread: score, even, brokers+2[:SEED] or binomial:P[:SEED]. [default: score]'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l if-not-exists -d 'Skip topics that exist; report how they differ.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l dry-run -d 'Show the assignment and the resulting scores; create nothing.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l exit-code -d 'With --dry-run: exit 3 if a topic is missing or differs.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l all -d 'List all topics and partitions, not only 20.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l yes -d 'Do not prompt where --save overwrites the snapshot that is read.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to balance by (see \'kafkabal scores\'), or package.module:object. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 9%]'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l exclude-brokers -r -f -a '(__kafkabal_list brokers)' -d 'Brokers that receive no replicas or leaders.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -s p -l partitions -r -f -d 'Number of partitions; at least 1.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -s r -l replication-factor -r -f -d 'Replication factor; at least 1.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l preset -r -f -a 'training' -d '\'training\': 10 partitions, factor 3, lz4, 168 h, messages up to 10 MiB. Other options override it.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l config -r -f -d 'Topic config. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l partition-bytes -r -f -d 'Expected size of a partition. [default: mean of the cluster]'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -s f -l file -r -F -d 'Create the topics in a topics.yaml. Existing topics are compared, not changed.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l save -r -F -d 'With --snapshot: write the changed snapshot to FILE; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l telemetry -r -f -a 'topic' -d 'Source of produce latencies: \'topic\' (pushed by all clients) or [HOST:]PORT (OTLP/HTTP receiver).'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l prometheus -r -f -d 'Prometheus server for the score \'prometheus\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l prometheus-query -r -f -d 'PromQL query that returns one series per broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l prometheus-label -r -f -d 'Label whose value ends in the broker id. [default: broker]'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal create' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l target -r -f -d 'Maximum usage of a broker, for the number of brokers. [default: 60%]'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l broker -r -f -a '(__kafkabal_names brokers)' -d 'Broker whose fullest disk to free. [default: the fullest]'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l limit -r -f -d 'Maximum usage of a disk, for what to free. [default: 85%]'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l plan-for -r -f -d 'Advise for the cluster as it will be after TIME, by its history.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 9%]'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l throttle -r -f -a 'auto none' -d 'Throttle per broker, to predict how long copies take.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -s o -l output -r -f -a 'table json yaml csv markdown html' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal advise' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal produce' -a '(__kafkabal_names topics)'
complete -c kafkabal -n '__kafkabal_argument 1 kafkabal produce' -F
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to balance by (see \'kafkabal scores\'), or package.module:object. Repeatable. [default: disk]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l format -r -f -a 'jsonl text csv parquet arrow tfrecord webdataset' -d 'Format of rows: jsonl, text, csv, parquet, arrow, tfrecord or webdataset. [default: by name]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l key -r -f -d 'Record key: a field of the row; for files, \'path\' or \'label\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l value -r -f -d 'Send only this field of each row. [default: the whole row]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l label -r -f -d 'Send this field of each row as the header \'label\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l include -r -f -d 'Send only files whose path in the folder matches. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l exclude -r -f -d 'Skip files whose path in the folder matches. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l transform -r -f -d 'Function that changes the value and headers of each record before it is sent.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l chunk -r -f -d 'Split files into records of this size, headers and key excluded.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l read-ahead -r -f -d 'Threads that read and hash files ahead of sending, for slow file systems; 0 to 256. [default: 0]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l policy -r -f -a 'random round-robin key-hash default sticky uniform-sticky adaptive join-idle-queue c3 prequal score smooth-weighted astraea rack-local power-of-d least-loaded pkg d-choices w-choices bounded-load' -d 'Routing policy; see \'kafkabal policies\'. [default: score]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l refresh -r -f -d 'Interval for re-reading the cluster. [default: 5s]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l producer-config -r -f -d 'librdkafka producer setting. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l any-key-order -d 'Allow policies that spread one key over several partitions.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l manifest -r -F -d 'File that records what has been sent. [default: one per topic and source]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l no-manifest -d 'Keep no manifest: a repeated run sends everything again.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l resend -d 'Send changed files again.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l telemetry -r -f -a 'topic' -d 'Source of produce latencies: \'topic\' (pushed by all clients) or [HOST:]PORT (OTLP/HTTP receiver).'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l prometheus -r -f -d 'Prometheus server for the score \'prometheus\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l prometheus-query -r -f -d 'PromQL query that returns one series per broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l prometheus-label -r -f -d 'Label whose value ends in the broker id. [default: broker]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal read' -a '(__kafkabal_names topics)'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l to -r -F -d 'Restore the files that \'produce\' sent from a folder into DIR.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l follow -d 'Print new records as they arrive.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l from-start -d 'With --follow: begin with the first record of the topic.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l for -r -f -d 'How long to measure or follow. [default: 30s to measure, no limit to follow]'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l rack -r -f -d 'Prefer in-sync replicas in this rack.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l readers -r -f -d 'Processes that share the topic; 1 to 256. [default: 1]'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l prefetch -r -f -d 'Memory of each reader for blocks. [default: 256MiB]'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l cache -r -F -d 'Keep blocks in this folder.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l cache-bytes -r -f -d 'Limit of the cache. [default: 100GB]'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l out -r -F -d 'Write rates and record size to FILE, for \'route-simulate --storage measured --training FILE\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal read' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l policy -r -f -a 'random round-robin key-hash default sticky uniform-sticky adaptive join-idle-queue c3 prequal score smooth-weighted astraea rack-local power-of-d least-loaded pkg d-choices w-choices bounded-load' -d 'Policy to simulate. Repeatable. [default: all]'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l topic -r -f -a '(__kafkabal_names topics)' -d 'Existing topic to write to, with its partitions and leaders.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l seeds -r -f -d 'Number of seeds to repeat each simulation with; 1 to 1,000. [default: 1]'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l latency -l no-latency -d 'Also simulate batches, queues and acknowledgements. [default: latency]'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l plot -r -F -d 'Write a plot: .svg, .png or .html (needs the extra \'plots\').'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to balance by (see \'kafkabal scores\'), or package.module:object. Repeatable. [default: disk]'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -s o -l output -r -f -a 'table json yaml csv html' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l workload -r -f -a 'coco cola delayed-broker events images records slow-broker uneven' -d 'Built-in workload or .yaml file. [default: records]'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l records -r -f -d 'Number of records to write; at least 1.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l bytes -r -f -d 'Bytes to write.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l data -r -F -d 'Take record sizes from a folder of files, or a file of rows, each once unless --records or --bytes is given.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l key -r -f -d 'Take record keys from --data: a field of its rows; for files, \'path\' or \'label\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l storage -r -f -a 'local-ssd nfs lustre all' -d 'Predict training time with local-ssd, nfs, lustre, a profile of --training, or all. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l training -r -F -d 'YAML file with storage profiles, the training job and read rates of brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l rack -r -f -d 'Rack of the readers, for rack-local.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal route-simulate' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal route' -a '(__kafkabal_names topics)'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l policy -r -f -d 'Options of the policy \'score\'. [default: score]'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to balance by (see \'kafkabal scores\'), or package.module:object. Repeatable. [default: disk]'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -s o -l output -r -f -a 'table json jsonl yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l publish -d 'Publish the weights, for producers with kafkabal-routing.jar.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l once -d 'Publish once and exit, for cron.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l refresh -r -f -d 'Interval for re-reading the cluster and publishing again. [default: 5s]'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l valid-for -r -f -d 'How long producers follow weights that are not renewed. [default: 1m, or three times --refresh]'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l telemetry -r -f -a 'topic' -d 'Source of produce latencies: \'topic\' (pushed by all clients) or [HOST:]PORT (OTLP/HTTP receiver).'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l prometheus -r -f -d 'Prometheus server for the score \'prometheus\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l prometheus-query -r -f -d 'PromQL query that returns one series per broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l prometheus-label -r -f -d 'Label whose value ends in the broker id. [default: broker]'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal route' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal routing' -a plugin -d 'Build the partitioner for Java producers, which follows published weights.'
complete -c kafkabal -n '__kafkabal_at kafkabal routing' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal routing plugin' -l out -r -F -d 'Path of the jar to write. [required]'
complete -c kafkabal -n '__kafkabal_at kafkabal routing plugin' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal routing plugin' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal routing plugin' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal routing plugin' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal routing plugin' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l every -r -f -d 'Interval between checks of the brokers. [default: 5s]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l slow -r -f -d 'A broker is slow if it takes PERCENT longer to respond than usual, and than the others. [default: 20%]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l once -d 'Check once and exit: 0, or 3 with findings.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l bootstrap-controller -r -f -d 'KRaft controllers; needed to change configs of dead brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 9%]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l throttle -r -f -a 'auto none' -d 'Replication throttle per broker: a rate, \'auto\' or \'none\'. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l window -r -f -d 'Only move data in this time window, local time.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l topics -r -f -a '(__kafkabal_list topics)' -d 'Only topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l exclude-topics -r -f -a '(__kafkabal_list topics)' -d 'Do not move topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l exclude-brokers -r -f -a '(__kafkabal_list brokers)' -d 'Brokers that receive no replicas or leaders.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l include-internal -d 'Also balance internal topics.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l heal -r -f -a 'none leaders all' -d 'What may be changed: nothing, leadership, or replicas too. [default: none]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l dead-after -r -f -d 'Copy the replicas of a broker elsewhere after it has been dead for TIME. [default: 30m]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l move-after -r -f -d 'Move replicas off a broker that has been slow for TIME. [default: never]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l max-bytes-per-day -r -f -d 'Maximum bytes moved within 24 hours; repairs count, but are not limited.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l max-actions-per-day -r -f -d 'Maximum runs started within 24 hours; at least 1. [default: 24]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l max-dead -r -f -d 'Change nothing while more than N brokers are missing that went away within a day; at least 1. [default: 1]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l rebalance-above -r -f -d 'Rebalance when a broker deviates by more than PERCENT from its fair share. [default: 20%]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -s o -l output -r -f -a 'table json jsonl' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l textfile -r -F -d 'Write metrics to a Prometheus textfile, and keep it up to date.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l notify -r -f -d 'Post every event to Alertmanager (/api/v2/alerts), Slack or a webhook.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal watch' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal top' -l by -r -f -a 'broker log-dir rack topic partition' -d 'Show rows by. [default: broker]'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -l every -r -f -d 'Interval between readings of brokers and moves. [default: 5s]'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to show (see \'kafkabal scores\'), or package.module:object. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 10%]'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal top' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l out -r -F -d 'Folder for the files. [required]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile of a cluster to monitor, or a pattern such as \'prod-*\'. Repeatable. [default: all]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l overwrite -d 'Replace files that differ.'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l full -r -f -d 'Alert when a broker\'s disks are fuller than PERCENT. [default: 85%]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l full-within -r -f -d 'Alert when a broker will be full within TIME. [default: 3d]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l blind-after -r -f -d 'Alert when a cluster has not been read for TIME. [default: 10m]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l webhook -r -f -d 'Receiver of alerts. [default: http://localhost:8080/alerts]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l exporter -r -f -d 'Node exporter of a host that reads clusters. Repeatable. [default: localhost:9100]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l alertmanager -r -f -d 'Alertmanager. Repeatable. [default: localhost:9093]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l textfiles -r -F -d 'Folder of the node exporter\'s textfile collector. [default: /var/lib/node_exporter]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal monitoring' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal telemetry' -a subscribe -d 'Make clients push metrics to the brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry' -a list -d 'List subscriptions: which clients push which metrics, and how often.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry' -a remove -d 'Remove subscriptions; metrics already forwarded expire by retention.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry' -a plugin -d 'Build the broker plug-in that forwards client metrics to a topic.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry' -a show -d 'Show the metrics that clients push, with their latest values.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry' -a errors -d 'Show the records that producers could not write, by topic.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry' -a latency -d 'Show the produce latency of each broker, as measured by clients.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l name -r -f -d 'Subscription name. [default: kafkabal]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l metric -r -f -d 'Metrics to push, by prefix. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l interval -r -f -d 'Push interval. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l match -r -f -d 'Only clients whose attribute KEY matches a pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l topic -r -f -a '(__kafkabal_names topics)' -d 'Topic to which brokers forward metrics. [default: __kafkabal_telemetry]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry subscribe' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry list' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal telemetry remove' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry remove' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry remove' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry remove' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry remove' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry remove' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry remove' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry remove' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry remove' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal telemetry plugin' -l libs -r -F -d 'Kafka\'s libs folder, or jars from it. Repeatable. [required]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry plugin' -l out -r -F -d 'Path of the jar to write. [required]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry plugin' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry plugin' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry plugin' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry plugin' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry plugin' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l metric -r -f -d 'Only metrics whose names begin with PREFIX.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l top -r -f -d 'Number of rows to show, 0 for all. [default: 50]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -s o -l output -r -f -a 'table json jsonl yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l topic -r -f -a '(__kafkabal_names topics)' -d 'Topic to which brokers forward metrics. [default: __kafkabal_telemetry]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l listen -r -f -d 'Receive OTLP/HTTP posts on this address instead of reading the topic.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l for -r -f -d 'Time to collect. [default: 15s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l last -r -f -d 'Also include metrics of the preceding TIME. [default: 1m]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry show' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -s o -l output -r -f -a 'table json yaml csv prometheus' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l topic -r -f -a '(__kafkabal_names topics)' -d 'Topic to which brokers forward metrics. [default: __kafkabal_telemetry]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l listen -r -f -d 'Receive OTLP/HTTP posts on this address instead of reading the topic.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l for -r -f -d 'Time to collect. [default: 15s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l last -r -f -d 'Also include metrics of the preceding TIME. [default: 1m]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry errors' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -s o -l output -r -f -a 'table json yaml csv prometheus' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l topic -r -f -a '(__kafkabal_names topics)' -d 'Topic to which brokers forward metrics. [default: __kafkabal_telemetry]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l listen -r -f -d 'Receive OTLP/HTTP posts on this address instead of reading the topic.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l for -r -f -d 'Time to collect. [default: 15s]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l last -r -f -d 'Also include metrics of the preceding TIME. [default: 1m]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal telemetry latency' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -l for -r -f -a 'inspect create rebalance watch telemetry' -d 'Check only the permissions that this command needs. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -s o -l output -r -f -a 'table json yaml csv markdown' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal doctor' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal profiles' -a list -d 'List profiles: which cluster each names, and which one is in use.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles' -a show -d 'Show the settings of a profile and of its client.properties; secrets are never shown.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles' -a use -d 'Use a profile by default.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles' -a check -d 'Connect to the clusters of profiles, all at once, and show which respond.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles' -a add -d 'Add a profile.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal profiles list' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles list' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles list' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles list' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles list' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles list' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles list' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal profiles show' -a '(__kafkabal_names profiles)'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles show' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles show' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles show' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles show' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles show' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles show' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles show' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal profiles use' -a '(__kafkabal_names profiles)'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles use' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles use' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles use' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles use' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles use' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal profiles check' -a '(__kafkabal_names profiles)'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles check' -s t -l timeout -r -f -d 'How long each cluster may take. [default: 15s]'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles check' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles check' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles check' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles check' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles check' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles check' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles check' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal profiles add' -a '(__kafkabal_names profiles)'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -l snapshot -r -F -d 'Snapshot to use instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -l set -r -f -d 'Any other setting, such as tolerance=5%. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -l use -d 'Also make it the profile in use.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal profiles add' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal config' -a show -d 'Show all settings that are set, with their values and where they come from.'
complete -c kafkabal -n '__kafkabal_at kafkabal config' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal config show' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l bootstrap-controller -r -f -d 'KRaft controllers; needed to change configs of dead brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l score -r -f -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to balance by (see \'kafkabal scores\'), or package.module:object. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l tolerance -r -f -d 'Allowed deviation from the fair share. [default: 9%]'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l count-capacity -r -f -a 'equal disk' -d 'Target replica and leader counts per broker: \'equal\', or proportional to \'disk\'. [default: equal]'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l max-bytes -r -f -d 'Maximum bytes to move between brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l max-moves -r -f -d 'Maximum replicas to move.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l max-leader-changes -r -f -d 'Maximum leader changes; followers move instead.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l max-duration -r -f -d 'Maximum duration of the moves at the throttle.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l dead-after -r -f -d 'How long a broker must have been dead before its replicas are copied elsewhere; 0: now. [default: 10m]'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l throttle -r -f -a 'auto none' -d 'Replication throttle per broker: a rate, \'auto\' or \'none\'. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l log-dir-throttle -r -f -d 'Throttle for moves between log dirs of one broker. [default: as --throttle]'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l window -r -f -d 'Only move data in this time window, local time.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l topics -r -f -a '(__kafkabal_list topics)' -d 'Only topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l exclude-topics -r -f -a '(__kafkabal_list topics)' -d 'Do not move topics that match this glob pattern. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l exclude-brokers -r -f -a '(__kafkabal_list brokers)' -d 'Brokers that receive no replicas or leaders.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l include-internal -d 'Also balance internal topics.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal config show' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal completion' -a install -d 'Install completion for your shell.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion' -a bash -d 'Print the completion script for bash.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion' -a zsh -d 'Print the completion script for zsh.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion' -a fish -d 'Print the completion script for fish.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion' -a candidates -d 'Print the names that a shell can offer, one per line.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal completion install' -a 'bash zsh fish'
complete -c kafkabal -n '__kafkabal_at kafkabal completion install' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion install' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion install' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal completion install' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion install' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal completion bash' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion bash' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion bash' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal completion bash' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion bash' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal completion zsh' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion zsh' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion zsh' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal completion zsh' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion zsh' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal completion fish' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion fish' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion fish' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal completion fish' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion fish' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal completion candidates' -a 'topics brokers profiles sandboxes nodes partitions runs'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -l name -r -f -d 'Sandbox whose nodes to print. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -l plan -r -F -d 'Plan file whose partitions to print.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion candidates' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal scores' -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -s b -l bootstrap-server -r -f -d 'Bootstrap brokers.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l command-config -r -F -d 'client.properties file, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l profile -r -f -a '(__kafkabal_names profiles)' -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l snapshot -r -F -d 'Use a saved snapshot instead of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l zookeeper -r -f -d 'ZooKeeper servers, for Kafka 3.9 and older.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l broker-timeout -r -f -d 'Timeout per broker request. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal policies' -a 'random round-robin key-hash default sticky uniform-sticky adaptive join-idle-queue c3 prequal score smooth-weighted astraea rack-local power-of-d least-loaded pkg d-choices w-choices bounded-load'
complete -c kafkabal -n '__kafkabal_at kafkabal policies' -s o -l output -r -f -a 'table json yaml csv' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal policies' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal policies' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal policies' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal policies' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal policies' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal policies' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal snapshot' -a import -d 'Import a snapshot from the output of Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -l out -r -F -d 'Write the snapshot to FILE; compressed if FILE ends in .gz; - is standard output. [required]'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -l topics -r -F -d 'Output of \'kafka-topics --describe\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -l assignment -r -F -d 'JSON of kafka-reassign-partitions, instead of --topics.'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -l log-dirs -r -F -d 'Output of \'kafka-log-dirs --describe\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -l cluster-id -r -f -a '(__kafkabal_names brokers)' -d 'Cluster id, which these files do not contain; a history needs it. [default: imported]'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal snapshot import' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal help' -a 'inspect rebalance create advise produce read route-simulate route routing watch top monitoring telemetry doctor profiles config completion scores policies snapshot help sandbox demo add-brokers architecture commands dead-broker deploy executor exit-codes first-rebalance formats full-disk glossary growth java-producers many-clusters metrics nightly-rebalance output own-score package permissions planner python racks reader remove-a-broker simulate training-data'
complete -c kafkabal -n '__kafkabal_at kafkabal help' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal help' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal help' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal help' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal help' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a up -d 'Start a cluster, or the stopped nodes of one.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a status -d 'Show node status and why a node exited.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a logs -d 'Show the last log lines of a node.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a kill -d 'Kill nodes with SIGKILL, like a crash.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a pause -d 'Pause nodes with SIGSTOP, like a hung machine.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a start -d 'Start or resume nodes and wait until they respond.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a stop -d 'Shut nodes down gracefully (SIGTERM).'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a down -d 'Remove a sandbox: its processes and files.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l name -r -f -a '(__kafkabal_names sandboxes)' -d 'Sandbox name. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l timeout -r -f -d 'Time to wait. [default: 90s]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l brokers -r -f -d 'Number of brokers. [default: 3]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l racks -r -f -d 'Number of racks, 0 for none. [default: up to 3]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l log-dirs -r -f -d 'Log dirs per broker. [default: 2]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l capacity -r -f -d 'Reported size of each log dir. [default: 10GiB]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l controllers -r -f -a '1 3 5' -d 'Number of dedicated controllers; 1 means broker 1 is the controller. [default: 1]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l zookeeper -d 'Use ZooKeeper, with the last Kafka version that supports it.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l kafka-version -r -f -a '3.9.2 4.1.2 4.3.1 4.4.0' -d 'Kafka version. [default: 4.1.2; with --zookeeper: 3.9.2]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l replicas -r -f -d 'Number of replicas to size each broker\'s heap for. [default: 1000]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l heap -r -f -d 'Heap size of each broker. [default: by --replicas]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l property -r -f -d 'Setting for all nodes. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l broker-property -r -f -d 'Setting for one broker. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l listener -r -f -d 'Additional listener, such as TLS=SSL. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l class-path -r -F -d 'Jar for the class path of all nodes. Repeatable.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -s o -l output -r -f -a 'table json yaml' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -l name -r -f -a '(__kafkabal_names sandboxes)' -d 'Sandbox name. [default: all]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -s o -l output -r -f -a 'table json yaml' -d 'Output format. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -l output-file -r -F -d 'Write the output to FILE atomically; - is standard output.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_argument 0 kafkabal sandbox logs' -a '(__kafkabal_names nodes)'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -l name -r -f -a '(__kafkabal_names sandboxes)' -d 'Sandbox name. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -s n -l lines -r -f -d 'Number of lines. [default: 50]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -a '(__kafkabal_names nodes)'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -l name -r -f -a '(__kafkabal_names sandboxes)' -d 'Sandbox name. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -a '(__kafkabal_names nodes)'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -l name -r -f -a '(__kafkabal_names sandboxes)' -d 'Sandbox name. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -a '(__kafkabal_names nodes)'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -l name -r -f -a '(__kafkabal_names sandboxes)' -d 'Sandbox name. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -a '(__kafkabal_names nodes)'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -l name -r -f -a '(__kafkabal_names sandboxes)' -d 'Sandbox name. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -l name -r -f -a '(__kafkabal_names sandboxes)' -d 'Sandbox name. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -s h -l help -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal demo' -l keep -d 'Leave the cluster running and suggest commands to try.'
complete -c kafkabal -n '__kafkabal_at kafkabal demo' -s q -l quiet -d 'Show only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal demo' -s v -l verbose -d 'Verbose output; -vv adds library logs.'
complete -c kafkabal -n '__kafkabal_at kafkabal demo' -l color -r -f -a 'auto always never' -d 'Colour the output: \'auto\' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set. [default: auto]'
complete -c kafkabal -n '__kafkabal_at kafkabal demo' -l no-color -d 'The same as --color never.'
complete -c kafkabal -n '__kafkabal_at kafkabal demo' -s h -l help -d 'Show this message and exit.'
