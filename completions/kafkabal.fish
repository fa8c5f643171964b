# fish completion for kafkabal. Generated: change the commands, then run  python -m kafkabal.cli.reference
# Topics and brokers come from files that every command refreshes: no cluster is asked, no Python is started.

function __kafkabal_names
    set -l cache $XDG_CACHE_HOME
    test -n "$cache"; or set cache $HOME/.cache
    cat $cache/kafkabal/$argv[1] 2>/dev/null
end

# whether the words typed so far lead to exactly this command
function __kafkabal_at
    set -l found kafkabal
    for word in (commandline -opc)[2..-1]
        contains -- "$found $word" $__kafkabal_commands; and set found "$found $word"
    end
    test "$found" = "$argv"
end

set -g __kafkabal_commands \
    'kafkabal inspect' \
    'kafkabal produce' \
    'kafkabal sandbox' \
    'kafkabal sandbox up' \
    'kafkabal sandbox status' \
    'kafkabal sandbox logs' \
    'kafkabal sandbox kill' \
    'kafkabal sandbox pause' \
    'kafkabal sandbox start' \
    'kafkabal sandbox stop' \
    'kafkabal sandbox down' \
    'kafkabal scores' \
    'kafkabal completion'

complete -c kafkabal -f

complete -c kafkabal -n '__kafkabal_at kafkabal' -a inspect -d 'Show how evenly the load lies, worst first.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a produce -d 'Send files or rows, each to where there is room.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a sandbox -d 'Run a real Apache Kafka of several brokers on this machine.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a scores -d 'List the scores: what each measures and needs, and whether this cluster supplies it.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -a completion -d 'Print the completion script of a shell.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -l version -d 'Show the version.'
complete -c kafkabal -n '__kafkabal_at kafkabal' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l by -r -a 'broker log-dir rack topic partition' -d 'What a row stands for. [default: broker]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l top -r -d 'Show N rows, 0 for all. [default: 20 topics or partitions] [x>=0]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l sample -r -d 'Read twice, so far apart, for rates.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l watch -r -d 'Show it anew so often, until Ctrl-C.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l save -r -F -d 'Write a snapshot; a small one to FILE.gz.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s b -l bootstrap-server -r -d 'Brokers to ask first.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l command-config -r -F -d 'client.properties, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l profile -r -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l snapshot -r -F -d 'A saved snapshot in place of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l zookeeper -r -d 'ZooKeeper of a cluster of Kafka 3.9 or older.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l broker-timeout -r -d 'How long each broker may take. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l score -r -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to go by: a name of \'kafkabal scores\' or package.module:object; may be repeated.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l tolerance -r -d 'How far from the fair share is still even, as 9% or 0.09.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s o -l output -r -a 'table json yaml csv prometheus' -d 'Form of the result. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l output-file -r -F -d 'Write the result there, whole or not at all.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l check -d 'Exit 3 where something is uneven or broken.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l nagios -d 'One line and exit 0 to 3, as a monitoring plugin.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s w -l warning -r -d 'Tolerance of --nagios. [default: 10%]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s c -l critical -r -d 'The same, for CRITICAL. [default: 25%]'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal inspect' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal produce' -a '(__kafkabal_names topics)'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -s b -l bootstrap-server -r -d 'Brokers to ask first.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l command-config -r -F -d 'client.properties, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l profile -r -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l score -r -a 'disk log-dir replicas leaders topic-spread leader-bytes-in bytes-out latency prometheus' -d 'Score to go by: a name of \'kafkabal scores\' or package.module:object; may be repeated.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -s o -l output -r -a 'table json yaml csv' -d 'Form of the result. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l output-file -r -F -d 'Write the result there, whole or not at all.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l format -r -d 'Of rows: jsonl, text, csv or parquet. [default: by the name]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l key -r -d 'Key of a record: a field of the row; of a file, \'path\' or \'label\'.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l value -r -d 'Send this field of a row only, not all of it.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l chunk -r -d 'Split files into records of this size.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l policy -r -d 'Who decides; see \'kafkabal policies\'. [default: score]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l refresh -r -d 'How often the cluster is read. [default: 5s]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l producer-config -r -d 'Setting of librdkafka\'s producer; may be repeated.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l any-key-order -d 'Let a policy send records of one key to several partitions.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l manifest -r -F -d 'Memory of what was sent. [default: one for each topic]'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l no-manifest -d 'Remember nothing: a repeated run sends all again.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal produce' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a up -d 'Start a cluster, or what is missing of one.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a status -d 'Show how the nodes are, and why one has ended.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a logs -d 'Show the end of what a node has printed.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a kill -d 'Kill nodes, as a crash would (SIGKILL).'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a pause -d 'Pause nodes, as a machine that hangs would (SIGSTOP).'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a start -d 'Bring nodes back, and wait until they answer.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a stop -d 'Stop nodes in good order (SIGTERM).'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -a down -d 'Kill every process of a sandbox and remove every file of it.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l name -r -d 'Which sandbox. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l timeout -r -d 'How long to wait. [default: 90s]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l brokers -r -d 'Brokers. [default: 3]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l racks -r -d 'Racks, 0 for none. [default: up to 3]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l log-dirs -r -d 'Log dirs a broker. [default: 2]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l capacity -r -d 'What a log dir is said to hold. [default: 10GiB]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l controllers -r -d 'Controllers of their own, 1 for broker 1. [default: 1]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l zookeeper -d 'ZooKeeper and the last Kafka with it.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l kafka-version -r -d 'Version of Kafka.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l replicas -r -d 'Replicas that a broker is to bear; its heap grows with them. [default: 1000]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l heap -r -d 'Heap of a broker.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l property -r -d 'Setting of every node; may be repeated.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l broker-property -r -d 'Setting of one broker; may be repeated.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l listener -r -d 'One more listener, such as TLS=SSL; may be repeated.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l class-path -r -F -d 'Jar for every node; may be repeated.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -s o -l output -r -a 'table json yaml' -d 'Form of the result. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l output-file -r -F -d 'Write the result there, whole or not at all.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox up' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -l name -r -d 'Only this sandbox.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -s o -l output -r -a 'table json yaml' -d 'Form of the result. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -l output-file -r -F -d 'Write the result there, whole or not at all.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox status' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -l name -r -d 'Which sandbox. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -s n -l lines -r -d 'How many of the last. [default: 50; x>=0]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox logs' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -l name -r -d 'Which sandbox. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox kill' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -l name -r -d 'Which sandbox. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox pause' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -l name -r -d 'Which sandbox. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox start' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -l name -r -d 'Which sandbox. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox stop' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -l name -r -d 'Which sandbox. [default: default]'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal sandbox down' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal scores' -s b -l bootstrap-server -r -d 'Brokers to ask first.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l command-config -r -F -d 'client.properties, as for Kafka\'s own tools.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l profile -r -d 'Profile to use: a name, FILE or FILE#NAME.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l snapshot -r -F -d 'A saved snapshot in place of a live cluster.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l zookeeper -r -d 'ZooKeeper of a cluster of Kafka 3.9 or older.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l broker-timeout -r -d 'How long each broker may take. [default: 10s]'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -s o -l output -r -a 'table json yaml csv prometheus' -d 'Form of the result. [default: table]'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l output-file -r -F -d 'Write the result there, whole or not at all.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal scores' -l help -s h -d 'Show this message and exit.'

complete -c kafkabal -n '__kafkabal_at kafkabal completion' -a 'bash zsh fish'
complete -c kafkabal -n '__kafkabal_at kafkabal completion' -s q -l quiet -d 'Only results and errors.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion' -s v -l verbose -d 'Tell more; -vv also what the libraries say.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion' -l no-color -d 'No colour, even on a terminal.'
complete -c kafkabal -n '__kafkabal_at kafkabal completion' -l help -s h -d 'Show this message and exit.'
