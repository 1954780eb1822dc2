"""Reads configuration files with oslo.config, for a comparison.

Standard input is a list of texts in JSON; standard output a list of what was read from
each: the values of options of three groups by name, or the line that cannot be read. A
value that cannot be made is null.
"""

import json
import re
import sys
import tempfile

from oslo_config import cfg

GROUPS = ("DEFAULT", "g", "h")


def read(text):
    conf = cfg.ConfigOpts()
    for group in GROUPS:
        for name in "abc":
            conf.register_opt(cfg.StrOpt(name), None if group == "DEFAULT" else group)
        conf.register_opt(cfg.MultiStrOpt("m"), None if group == "DEFAULT" else group)
    with tempfile.NamedTemporaryFile("wb", suffix=".conf") as file:
        file.write(text.encode())
        file.flush()
        try:
            conf(["--config-file", file.name], project="x", default_config_files=[], default_config_dirs=[])
        except cfg.ConfigFileParseError as error:
            return {"line": int(re.search(r"\.conf:(\d+), ", str(error)).group(1))}
        values = {}
        for group in GROUPS:
            options = conf if group == "DEFAULT" else conf[group]
            for name in "abcm":
                try:
                    value = options[name]
                    if value is not None:
                        values[group + "." + name] = value if isinstance(value, list) else [value]
                except (cfg.NoSuchOptError, cfg.NoSuchGroupError, RecursionError):
                    values[group + "." + name] = None
        return {"values": values}


json.dump([read(text) for text in json.load(sys.stdin)], sys.stdout)
