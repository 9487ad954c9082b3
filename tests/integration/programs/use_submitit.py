"""submitit: one function, an array of them, and one that is cancelled; prints what came back."""

import operator
import time

import submitit

executor = submitit.AutoExecutor(folder="submitit-logs", cluster="slurm", slurm_python="/usr/bin/python3")
executor.update_parameters(timeout_min=10, mem_gb=0.25, cpus_per_task=1, slurm_job_name="power")
job = executor.submit(operator.pow, 3, 4)
print("one", job.result())
jobs = executor.map_array(operator.pow, [1, 2, 3], [2, 2, 2])
print("many", [each.result() for each in jobs])
endless = executor.submit(time.sleep, 600)
endless.cancel()
until = time.monotonic() + 90
while not endless.get_info(mode="force").get("State", "").startswith("CANCEL") and time.monotonic() < until:
    time.sleep(1)
print("cancelled", endless.state.split()[0])
