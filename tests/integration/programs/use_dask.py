"""dask-jobqueue: two workers as jobs, a sum over them."""

from dask.distributed import Client
from dask_jobqueue import SLURMCluster

if __name__ == "__main__":
    with SLURMCluster(
        cores=1,
        processes=1,
        memory="400MB",
        walltime="00:20:00",
        python="/usr/bin/python3",
        interface="eth0",
        local_directory="/tmp",
        death_timeout=180,
    ) as cluster:
        cluster.scale(jobs=2)
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=240)
            print("sum", sum(client.gather(client.map(lambda number: number * number, range(10)))))
