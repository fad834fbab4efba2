"""Bounds what the requests that Schemathesis generates can cost.

Only values that make sense are replaced, by others that do: what is to be refused
stays as it is.
"""

import re

import schemathesis

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
VOLUME = re.compile(r"(auto|(xfs|shm|tmpfs|zram|ramfs|disk)(:[1-9][0-9]{0,3}[KMG])?)")
DATABASE = re.compile(r"[^/\0]{1,64}")

# How long a request may wait for another that will not come, in seconds.
WAIT = 0.05


def number(value, least, most):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


def name(value):
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def create_branch(body):
    # A branch is another server. One is made; the others find its name taken.
    if name(body.get("name")):
        body["name"] = "branch"


def add_replica(body):
    # A replica is another server, too. The instance has templates, so that none is made.
    create_branch(body)
    if isinstance(body.get("volume"), str) and VOLUME.fullmatch(body["volume"]):
        body["volume"] = "shm"


def create_mark(body):
    # A mark holds a copy of all data where files do not share blocks.
    if name(body.get("label")):
        body["label"] = "mark-%d" % (len(body["label"]) % 2)


def create_database(body):
    # Most names are those of nothing: half of them become the one of a template.
    template = body.get("template")
    if isinstance(template, str) and DATABASE.fullmatch(template) and len(template) % 2 == 0:
        body["template"] = "shop"
    wait_briefly(body)


def wait_briefly(body):
    # Requests are sent one after the other: no other request ends what this one waits for.
    if number(body.get("wait_s", 0), 0, 3600):
        body["wait_s"] = WAIT


def move_instance(body):
    # A move restarts the server, and makes a volume. The instance is where it is to go.
    if isinstance(body.get("volume"), str) and VOLUME.fullmatch(body["volume"]):
        body["volume"] = "shm"


def set_limits(body):
    # Thousands of clones would be made ahead. And a pool that is full is right to answer
    # 503, which looks like a fault; api.TestErrors has that.
    if number(body.get("max_databases"), 1, 10000):
        body["max_databases"] = 10000
    if number(body.get("spare"), 0, 10000):
        body["spare"] = body["spare"] % 3


BOUNDS = {
    "addReplica": add_replica,
    "createBranch": create_branch,
    "createMark": create_mark,
    "createTemplate": wait_briefly,
    "createDatabase": create_database,
    "moveInstance": move_instance,
    "setLimits": set_limits,
}


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw.get("operationId")
    if operation in BOUNDS and isinstance(case.body, dict):
        BOUNDS[operation](case.body)
    if operation == "deleteTemplate" and case.path_parameters.get("name") == "shop":
        case.path_parameters["name"] = "rest"  # the other one is what databases are made from
