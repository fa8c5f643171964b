"""A real Apache Kafka cluster of several brokers on this machine's loopback, installed from packages, without root.

::

    from kafkabal.sandbox import SandboxSpec, up

    with up(SandboxSpec(brokers=6, racks=3), name="mine") as sandbox:   # down at the end of the block
        sandbox.bootstrap_servers                 # "127.0.0.1:23701,..."
        sandbox.profile_path                      # kafkabal profile with a capacity for each log dir
        sandbox.kill(3); sandbox.pause(4)         # SIGKILL, SIGSTOP
        sandbox.start(3, 4)                       # back, and responding
        sandbox.stop(5)                           # SIGTERM
        for node in sandbox.status(): node.state, node.pid, node.rss_bytes, node.cause
        sandbox.kafka_tool("LogDirsCommand", "--describe").stdout

:func:`up` creates a sandbox, or completes an existing one of that name; :func:`find_sandbox`, :func:`list_sandboxes`
and :func:`sandboxes_up` find existing ones, even after the tool that created them crashed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
