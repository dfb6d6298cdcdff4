#!/usr/bin/env bash
# Test the dense channel against a real Milvus server: `make test-server`.
# The server runs from its own virtual environment, because its pins and ours do not agree.
set -euo pipefail
python=$1 ours=$2
cd "$(dirname "$0")/.."
venv=.rungs/milvus-server
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check 'milvus==2.3.5' 'setuptools<81'
data=$(mktemp -d)
"$venv/bin/python" - "$data" <<'PY' &
import signal, sys
from milvus import default_server

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
default_server.set_base_dir(sys.argv[1])
try:
    default_server.start()
    print(f"server on port {default_server.listen_port}", flush=True)
    with open(sys.argv[1] + "/port", "w") as file:
        file.write(str(default_server.listen_port))
    signal.pause()
finally:
    default_server.stop()
PY
server=$!
trap 'status=$?; kill $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$data"; exit $status' EXIT
for _ in $(seq 120); do
  [ -s "$data/port" ] && break
  kill -0 $server 2>/dev/null || { echo "the Milvus server did not start"; exit 1; }
  sleep 1
done
[ -s "$data/port" ] || { echo "the Milvus server was not up after two minutes"; exit 1; }
RUNGS_TEST_MILVUS="http://127.0.0.1:$(cat "$data/port")" "$ours" -m pytest tests/test_server.py -v
