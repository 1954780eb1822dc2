"""Answers with the installed ironic what its default policy allows.

Standard input is a JSON object: the names of rules, and questions, each with a rule, the
headers of a caller and a target. The answer has the scope types of the rules and one
letter a question: y allowed, - denied, s denied by the scope of the token.
"""

import json
import logging
import sys
import warnings

# The directory of this program has an ironic.py of its own.
del sys.path[0]

from oslo_config import cfg
from oslo_policy import opts
from oslo_policy import policy

import ironic.conf  # registers the options that a context reads
from ironic.common import context
from ironic.common import policy as ironic

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)


def letter(enforcer, question):
    caller = context.RequestContext.from_environ(question["caller"])
    target = dict(caller.to_policy_values())
    target.update(question["target"])
    try:
        enforcer.authorize(question["rule"], target, caller, do_raise=True)
        return "y"
    except policy.PolicyNotAuthorized:
        return "-"
    except policy.InvalidScope:
        return "s"


asked = json.load(sys.stdin)
conf = cfg.ConfigOpts()
conf([], project="ironic", default_config_files=[], default_config_dirs=[])
opts._register(conf)
conf.set_override("enforce_scope", True, "oslo_policy")
conf.set_override("enforce_new_defaults", True, "oslo_policy")
conf.set_override("policy_file", "/nonexistent/policy.yaml", "oslo_policy")
enforcer = policy.Enforcer(conf)
enforcer.register_defaults(ironic.list_policies())
enforcer.load_rules()
known = {rule.name: rule for rule in ironic.list_policies()}
json.dump({
    "missing": [name for name in asked["rules"] if name not in known],
    "scopes": {name: known[name].scope_types for name in asked["rules"] if name in known},
    "letters": "".join(letter(enforcer, question) for question in asked["questions"]),
}, sys.stdout)
