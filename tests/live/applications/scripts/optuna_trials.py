"""Optuna: a study of some trials with values, reports and attributes. `python optuna_trials.py setup|run URL`."""

import sys

import optuna


def study():
    return optuna.create_study(study_name="study", storage=sys.argv[2], load_if_exists=True)


def objective(trial):
    x = trial.suggest_float("x", -10, 10)
    y = trial.suggest_int("y", 0, 5)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    trial.set_user_attr("tried", 1)
    trial.report(x, 1)
    return (x - 2) ** 2 + y + (kind == "a")


def run():
    found = study()
    found.optimize(objective, n_trials=8)
    assert len(found.trials) == 8
    assert found.best_trial.user_attrs == {"tried": 1}


{"setup": study, "run": run}[sys.argv[1]]()
