"""DBOS: workflows with steps and events, kept in PostgreSQL. `python dbos_flows.py setup|run URL`."""

import sys

from dbos import DBOS

DBOS(config={"name": "flows", "system_database_url": sys.argv[2], "run_admin_server": False})


@DBOS.step()
def more(number):
    return number + 1


@DBOS.workflow()
def flow(number):
    once = more(number)
    DBOS.set_event("once", once)
    return more(once)


@DBOS.workflow()
def several(count):
    return sum(handle.get_result() for handle in [DBOS.start_workflow(flow, n) for n in range(count)])


DBOS.launch()
if sys.argv[1] == "run":
    assert several(3) == 9
    assert flow(5) == 7
    assert len(DBOS.list_workflows()) == 5
DBOS.destroy()
