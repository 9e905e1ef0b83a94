"""PaddleJobs on a real server: their tasks find each other, and the job ends as paddle-operator's guide says."""

from pathlib import Path

from tests.conformance.running_jobs import ran
from tests.parts.server import MusterServer

JOB = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {name: paddle-conformance}
spec:
  withGloo: 1
  ps:
    replicas: 1
    template:
      spec:
        containers:
          - image: paddle:2.4
            command: [python3, -c]
            args:
              - |
                import os, socketserver
                class Greet(socketserver.BaseRequestHandler):
                    def handle(self):
                        self.request.sendall(os.environ["TRAINING_ROLE"].encode())
                server = socketserver.ThreadingTCPServer((os.environ["POD_IP"], int(os.environ["PADDLE_PORT"])), Greet)
                server.serve_forever()
  worker:
    replicas: 2
    template:
      spec:
        terminationGracePeriodSeconds: 5
        containers:
          - image: paddle:2.4
            command: [python3, -c]
            args:
              - |
                import os, socket, sys, time
                host, port = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].rsplit(":", 1)
                for _ in range(300):
                    try:
                        answer = socket.create_connection((host, int(port)), 10).recv(100).decode()
                        break
                    except OSError:
                        time.sleep(0.1)
                print("met", answer, *sys.argv[1:], os.environ["TRAINER_PORTS_NUM"], flush=True)
              - $(PADDLE_TRAINER_ID)
              - $(LR)
              - $$(LR)
            env: [{name: LR, value: "0.1"}]
"""
FAILS = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {name: paddle-conformance-fails}
spec:
  worker: {replicas: 1, template: {spec: {containers: [{image: i, command: [sh, -c, "exit 3"]}]}}}
"""


def test_workers_meet_the_server_and_the_job_ends_with_them(muster_server: MusterServer, tmp_path: Path) -> None:
    done = ran(muster_server, JOB, tmp_path)

    assert done.state == "Succeeded"
    assert done.lines("met") == ["PSERVER 0 0.1 $(LR) 20", "PSERVER 1 0.1 $(LR) 20"]


def test_failed_worker_fails_the_job(muster_server: MusterServer, tmp_path: Path) -> None:
    assert ran(muster_server, FAILS, tmp_path).state == "Failed"
