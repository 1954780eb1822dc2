"""Asks two services the same GETs, as several users, and compares the answers.

    compare.py KEYSTONE OLD NEW

What is asked is found by asking the old one: every provider, consumer, class and
trait. Compared are the status, the headers that clients read, and the body: JSON as
a value, where lists whose order means nothing are sorted, and of an error's detail the
part that speaks of the request. Times of `last-modified` must be equal unless they are
the time of asking. Standard traits that only the newer service knows don't count.
"""
import email.utils
import itertools
import json
import sys
import time
import urllib.error
import urllib.request

KEYSTONE, OLD, NEW = sys.argv[1:4]
VERSIONS = ('1.0', '1.8', '1.12', '1.14', '1.20', '1.29', '1.38', '1.39')
HEADERS = ('content-type', 'openstack-api-version', 'vary', 'cache-control', 'allow', 'location', 'www-authenticate')
CONSUMERS = ['10000000-0000-4000-8000-0000000000%02d' % n for n in (1, 2, 3, 10, 11, 99)]


def ask(base, path, token=None, version=None, method='GET', body=None):
    """(status, headers, body)."""
    headers = {'Accept': 'application/json', 'Content-Type': 'application/json'}
    if token:
        headers['X-Auth-Token'] = token
    if version:
        headers['OpenStack-API-Version'] = 'placement ' + version
    request = urllib.request.Request(base + path, data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.headers, answer.read()


def token_of(user, project='lab', scope=None):
    default = {'id': 'default'}
    body = {'auth': {
        'identity': {'methods': ['password'], 'password': {'user': {
            'name': user, 'domain': default, 'password': 'secret'}}},
        'scope': scope or {'project': {'name': project, 'domain': default}}}}
    status, headers, text = ask(KEYSTONE, '/auth/tokens', method='POST', body=json.dumps(body).encode())
    assert status == 201, text
    return headers['X-Subject-Token']


def paths(token):
    """Every GET that makes sense for the data of OpenStack Placement, and some that do not."""
    def listed(path, key):
        status, _, body = ask(OLD, path, token, '1.39')
        assert status == 200, (path, status, body)
        return json.loads(body)[key]
    providers = [p['uuid'] for p in listed('/resource_providers', 'resource_providers')]
    classes = [c['name'] for c in listed('/resource_classes', 'resource_classes')]
    traits = listed('/traits', 'traits')
    unknown = 'ffffffff-0000-4000-8000-00000000000f'
    yield from ('/', '/resource_providers', '/resource_classes', '/traits', '/usages', '/allocation_candidates', '/nothing')
    for filtering in ('name=tall', 'name=host%2Cwith%3Dsigns%2Bmore', 'uuid=' + providers[0], 'in_tree=' + providers[-1],
                      'member_of=20000000-0000-4000-8000-000000000001', 'resources=VCPU:4', 'required=HW_NUMA_ROOT',
                      'required=!CUSTOM_QUIET', 'required=CUSTOM_NONE', 'resources=VCPU:0', 'uuid=x', 'color=red'):
        yield '/resource_providers?' + filtering
    for provider in [*providers, unknown]:
        for part in ('', '/inventories', '/usages', '/traits', '/aggregates', '/allocations', '/inventories/VCPU', '/inventories/NONE'):
            yield '/resource_providers/%s%s' % (provider, part)
    for consumer in [*CONSUMERS, 'x']:
        yield '/allocations/' + consumer
    for name in [*classes[:3], *[c for c in classes if c.startswith('CUSTOM_')], 'CUSTOM_NONE']:
        yield '/resource_classes/' + name
    for name in [*traits[:3], *[t for t in traits if t.startswith('CUSTOM_')], 'CUSTOM_NONE']:
        yield '/traits/' + name
    yield from ('/traits?name=startswith:CUSTOM_', '/traits?name=in:CUSTOM_FAST,HW_NUMA_ROOT', '/traits?associated=true')
    for usages in ('project_id=lab', 'project_id=service', 'project_id=missing-project', 'project_id=lab&user_id=ada',
                   'project_id=lab&consumer_type=INSTANCE', 'project_id=lab&consumer_type=all', 'user_id=ada'):
        yield '/usages?' + usages
    for wanted in ('resources=VCPU:1', 'resources=VCPU:1,MEMORY_MB:512,DISK_GB:10', 'resources=VCPU:4&required=HW_NUMA_ROOT',
                   'resources=VGPU:1', 'resources=VCPU:2&resources_GPU=VGPU:1&group_policy=none', 'resources=VCPU:9999',
                   'resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate', 'resources=VCPU:1&limit=100', 'resources=NONE:1',
                   'resources_A=VCPU:1&resources_B=VGPU:1&same_subtree=_A,_B&group_policy=none',
                   'resources=DISK_GB:10&member_of=20000000-0000-4000-8000-000000000001', 'resources=VCPU:1&root_required=!HW_NUMA_ROOT'):
        yield '/allocation_candidates?' + wanted


def canonical(value):
    """A value in which the order of lists does not count."""
    if isinstance(value, dict):
        return {key: canonical(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted((canonical(inner) for inner in value), key=lambda inner: json.dumps(inner, sort_keys=True))
    return value


def specific(detail):
    """What an error says of this request.

    Before it stands a sentence for the status, which each service has in words of its
    own; behind it, where a schema was broken, the schema as the program prints it.
    """
    said = detail.partition('\n\n')[2].partition('Failed validating')[0]
    return ' '.join(said.split())


def comparable(base, path, answer):
    status, headers, body = answer
    told = {name: headers[name] for name in HEADERS if headers[name]}
    if 'vary' in told:      # Berth sends it with more responses, which is harmless
        del told['vary']
    if headers['last-modified']:
        at = email.utils.parsedate_to_datetime(headers['last-modified']).timestamp()
        told['last-modified'] = 'now' if abs(at - time.time()) < 5 else headers['last-modified']
    try:
        value = canonical(json.loads(body))
    except ValueError:
        value = body.decode()
    if isinstance(value, dict) and 'errors' in value:
        for error in value['errors']:
            error.pop('request_id', None)
            error['detail'] = specific(error['detail'])
    return status, told, value


def without_newer_traits(old, new):
    """The list of all traits, without standard ones that are newer than this OpenStack Placement.

    With them the time of the newest differs as well.
    """
    known = old[2].get('traits', []) if isinstance(old[2], dict) else []
    if not known:
        return old, new
    kept = [name for name in new[2].get('traits', []) if name in known or name.startswith('CUSTOM_')]
    for answer in old, new:
        answer[1].pop('last-modified', None)
    return old, (new[0], new[1], {**new[2], 'traits': kept})


def main():
    system = {'system': {'all': True}}
    people = {
        'no token': None, 'a wrong token': 'gAAAAAB-wrong', 'an administrator': token_of('admin', 'admin'),
        'a service': token_of('placement', 'service'), 'a reader': token_of('ada'), 'a member': token_of('bob'),
        'an auditor': token_of('eve'), 'an administrator of the system': token_of('admin', scope=system),
    }
    asked = list(paths(people['an administrator']))
    count, different = 0, []
    for (who, token), path in itertools.product(people.items(), asked):
        # An administrator asks in every version, others in the oldest and the newest.
        versions = VERSIONS if who == 'an administrator' else (VERSIONS[0], VERSIONS[-1])
        for version in versions:
            old, new = (comparable(base, path, ask(base, path, token, version)) for base in (OLD, NEW))
            count += 1
            if path == '/traits':
                old, new = without_newer_traits(old, new)
            if old != new:
                different.append('%s, %s GET %s\n  old %s\n  new %s' % (who, version, path, old, new))
    for line in different[:40]:
        print(line)
    print('%d requests by %d users, %d answers differ' % (count, len(people), len(different)))
    sys.exit(1 if different else 0)


main()
