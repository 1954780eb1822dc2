"""Answers with the installed oslo.policy what policy files allow.

Each line on standard input is a JSON object: files by path, options, the rules that a
service registers, and questions: a rule, the headers of a caller, a target. The answer is
one line: a letter for each question, y allowed, - denied, s denied by the scope of the
token, ! an exception; or the exception with which the files are not loaded.
"""

import json
import logging
import os
import sys
import tempfile
import warnings

from oslo_config import cfg
from oslo_context import context
from oslo_policy import opts
from oslo_policy import policy

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)


def enforcer_of(case, directory):
    for path, text in case["files"].items():
        whole = os.path.join(directory, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w") as out:
            out.write(text)
    conf = cfg.ConfigOpts()
    conf([], project="placement", default_config_dirs=[directory], default_config_files=[])
    opts._register(conf)
    for name, value in {
        "policy_file": os.path.join(directory, "policy.yaml"),
        "policy_dirs": [os.path.join(directory, "policy.d")],
        "policy_default_rule": case["default_rule"],
        "enforce_new_defaults": case["new_defaults"],
        "enforce_scope": case["scope"],
    }.items():
        conf.set_override(name, value, "oslo_policy")
    enforcer = policy.Enforcer(conf)
    for name, check, deprecated, scopes in case["registered"]:
        before = name if name.startswith("baremetal:") else "rule:admin_api"
        old = policy.DeprecatedRule(before, deprecated, deprecated_reason="r", deprecated_since="s") if deprecated else None
        enforcer.register_default(policy.RuleDefault(name, check, deprecated_rule=old, scope_types=scopes))
    enforcer.load_rules()
    return enforcer


def letter(enforcer, question):
    caller = context.RequestContext.from_environ(question["caller"])
    try:
        allowed = enforcer.authorize(question["rule"], question["target"], caller, do_raise=True)
        return "y" if allowed else "-"
    except policy.PolicyNotAuthorized:
        return "-"
    except policy.InvalidScope:
        return "s"
    except Exception:
        return "!"


def answer(case):
    with tempfile.TemporaryDirectory() as directory:
        try:
            enforcer = enforcer_of(case, directory)
        except Exception as mistake:
            return {"refused": "%s: %s" % (type(mistake).__name__, mistake)}
        return {"letters": "".join(letter(enforcer, question) for question in case["questions"])}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
