"""MLflow: runs with parameters, metrics and tags, and a search among them. `python mlflow_runs.py setup|run URL`."""

import sys

from mlflow.tracking import MlflowClient

client = MlflowClient(tracking_uri=sys.argv[2])


def setup():
    client.create_experiment("trials")


def run():
    experiment = client.get_experiment_by_name("trials").experiment_id
    for number in range(3):
        found = client.create_run(experiment).info.run_id
        client.log_param(found, "rate", f"0.{number}")
        for step in range(3):
            client.log_metric(found, "loss", 1.0 / (step + 1), step=step)
        client.set_tag(found, "kind", "small")
        client.set_terminated(found)
    ordered = client.search_runs([experiment], filter_string="metrics.loss < 0.5", order_by=["metrics.loss ASC"])
    assert len(ordered) == 3
    assert len(client.get_metric_history(found, "loss")) == 3
    client.delete_run(found)


{"setup": setup, "run": run}[sys.argv[1]]()
