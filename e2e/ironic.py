"""Runs command lines of the `openstack` client, one after the other in one process.

Each line on standard input is a list of arguments in JSON; the answer to each is one
line: the exit code and what was printed. The client is the installed one. Only its
pauses are cut short: between two looks at a node it sleeps up to ten seconds.
"""

import contextlib
import io
import json
import sys
import time

from openstackclient import shell

unhurried = time.sleep
time.sleep = lambda seconds: unhurried(min(seconds, 0.05))

for line in sys.stdin:
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        client = shell.OpenStackShell()
        client.stdout, client.stderr = printed, said
        try:
            code = client.run(json.loads(line))
        except SystemExit as end:
            code = end.code
    print(json.dumps({"code": code or 0, "printed": printed.getvalue(), "said": said.getvalue()}), flush=True)
