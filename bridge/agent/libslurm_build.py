"""Builds `_sluice_libslurm`: the few calls of libslurm that pyslurm doesn't wrap, compiled against slurm.h.

Run inside the image (``python libslurm_build.py OUTPUT.c``); nothing imports this file. API mode: the C
compiler reads the real slurm.h, so a field that moved is found by it, and one that left fails the
build, never a run. What differs between Slurm 25.11 and 26.05 is bridged in `SOURCE`.
"""

from __future__ import annotations

import sys

from cffi import FFI

CDEF = """
typedef long time_t;
typedef struct {
    char *account, *admin_comment, *array_task_str, *comment, *dependency, *name, *nodes, *partition;
    char *qos, *state_desc, *tres_req_str, *tres_alloc_str, *user_name, *work_dir, *std_out, *std_err;
    uint32_t array_job_id, array_max_tasks, array_task_id, exit_code, het_job_id, het_job_offset;
    uint32_t job_state, num_cpus, num_nodes, priority, state_reason, time_limit, user_id;
    uint16_t batch_flag, restart_cnt;
    time_t end_time, start_time, submit_time;
    ...;
} slurm_job_info_t;
typedef struct {
    uint32_t record_count;
    slurm_job_info_t *job_array;
    time_t last_update;
    ...;
} job_info_msg_t;

typedef struct {
    char *account, *partition, *qos, *reservation, *name, *features, *comment, *admin_comment, *work_dir;
    char *script, *array_inx, *dependency, *tres_per_job, *tres_per_node, *tres_per_socket, *tres_per_task;
    char *req_nodes, *exc_nodes, *licenses;
    uint32_t user_id, group_id, min_nodes, max_nodes, num_tasks, min_cpus, time_limit;
    char *cpus_per_tres, *mem_per_tres, *wckey;
    uint16_t contiguous, cpus_per_task, ntasks_per_node, ntasks_per_tres, pn_min_cpus, shared;
    uint16_t sockets_per_node, cores_per_socket, threads_per_core;
    uint32_t priority, time_min, pn_min_tmp_disk;
    uint64_t pn_min_memory;
    time_t begin_time, deadline;
    ...;
} job_desc_msg_t;
typedef struct {
    char *node_list, *part_name;
    uint32_t proc_cnt;
    time_t start_time;
    ...;
} will_run_response_msg_t;

typedef struct slurmdb_assoc_usage {
    uint64_t *grp_used_tres;
    uint32_t used_jobs, used_submit_jobs;
    ...;
} slurmdb_assoc_usage_t;
typedef struct slurmdb_assoc_rec {
    char *acct, *parent_acct, *partition, *user;
    uint32_t grp_jobs, grp_submit_jobs, max_jobs, max_submit_jobs;
    uint64_t *grp_tres_ctld;
    slurmdb_assoc_usage_t *usage;
    ...;
} slurmdb_assoc_rec_t;
typedef struct {
    uint32_t tres_cnt;
    char **tres_names;
    ...;
} assoc_mgr_info_msg_t;

void slurm_init(const char *conf);
int sluice_load_uses(char **accounts, int count, assoc_mgr_info_msg_t **answer);
int sluice_count_uses(assoc_mgr_info_msg_t *answer);
int sluice_uses(assoc_mgr_info_msg_t *answer, slurmdb_assoc_rec_t **found, int size);
void slurm_free_assoc_mgr_info_msg(assoc_mgr_info_msg_t *answer);
int sluice_load_jobs(time_t since, job_info_msg_t **jobs);
int sluice_load_job(uint32_t number, job_info_msg_t **jobs);
void slurm_free_job_info_msg(job_info_msg_t *jobs);
uint32_t sluice_job_number(slurm_job_info_t *job);
void sluice_paths(slurm_job_info_t *job, char *out, char *err, int size);
const char *sluice_reason(slurm_job_info_t *job);
const char *sluice_strerror(int number);
int sluice_ping(void);
void slurm_init_job_desc_msg(job_desc_msg_t *description);
int sluice_would_run(job_desc_msg_t *description, will_run_response_msg_t **answer);
int sluice_preempted(will_run_response_msg_t *answer, uint32_t *jobs, int size);
void sluice_free_answer(will_run_response_msg_t *answer);
"""

SOURCE = r"""
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <slurm/slurm.h>
#include <slurm/slurmdb.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

/* libslurmfull exports these, slurm.h does not declare them. */
extern char *slurm_job_state_reason_string(enum job_state_reason reason);
extern void slurm_free_will_run_response_msg(will_run_response_msg_t *answer);

/* Every call returns 0 or Slurm's error number, so that errno never has to cross into Python. */
static int outcome(int rc)
{
    return rc == SLURM_SUCCESS ? 0 : (errno ? errno : -1);
}

static int sluice_load_jobs(time_t since, job_info_msg_t **jobs)
{
    errno = 0;
    return outcome(slurm_load_jobs(since, jobs, SHOW_ALL));
}

static int sluice_load_job(uint32_t number, job_info_msg_t **jobs)
{
    errno = 0;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
    id.job_id = number;
    return outcome(slurm_load_job(jobs, id, SHOW_ALL));
#else
    return outcome(slurm_load_job(jobs, number, SHOW_ALL));
#endif
}

static uint32_t sluice_job_number(slurm_job_info_t *job)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    return job->step_id.job_id;
#else
    return job->job_id;
#endif
}

static void sluice_paths(slurm_job_info_t *job, char *out, char *err, int size)
{
    out[0] = err[0] = '\0';
    slurm_get_job_stdout(out, size, job);
    slurm_get_job_stderr(err, size, job);
}

static const char *sluice_reason(slurm_job_info_t *job)
{
    return slurm_job_state_reason_string(job->state_reason);
}

static const char *sluice_strerror(int number)
{
    return slurm_strerror(number);
}

static int sluice_ping(void)
{
    errno = 0;
    return outcome(slurm_ping(0));
}

/* Judged by slurmctld and job_submit.lua like a submission, and no job is made. */
static int sluice_would_run(job_desc_msg_t *description, will_run_response_msg_t **answer)
{
    int number;

    errno = 0;
    *answer = NULL;
    number = outcome(slurm_job_will_run2(description, answer));
    if (number && *answer) {
        slurm_free_will_run_response_msg(*answer);
        *answer = NULL;
    }
    return number;
}

static int sluice_preempted(will_run_response_msg_t *answer, uint32_t *jobs, int size)
{
    list_itr_t *each;
    uint32_t *job;
    int count = 0;

    if (!answer->preemptee_job_id)
        return 0;
    each = slurm_list_iterator_create(answer->preemptee_job_id);
    while (count < size && (job = slurm_list_next(each)))
        jobs[count++] = *job;
    slurm_list_iterator_destroy(each);
    return count;
}

/* Associations of some accounts as slurmctld holds them, with what counts against their limits. */
static int sluice_load_uses(char **accounts, int count, assoc_mgr_info_msg_t **answer)
{
    assoc_mgr_info_request_msg_t request;
    int at, number;

    memset(&request, 0, sizeof request);
    request.flags = ASSOC_MGR_INFO_FLAG_ASSOC;
    request.acct_list = slurm_list_create(NULL);
    for (at = 0; at < count; at++)
        slurm_list_append(request.acct_list, accounts[at]);
    errno = 0;
    *answer = NULL;
    number = outcome(slurm_load_assoc_mgr_info(&request, answer));
    slurm_list_destroy(request.acct_list);
    return number;
}

static int sluice_count_uses(assoc_mgr_info_msg_t *answer)
{
    return answer->assoc_list ? slurm_list_count(answer->assoc_list) : 0;
}

static int sluice_uses(assoc_mgr_info_msg_t *answer, slurmdb_assoc_rec_t **found, int size)
{
    list_itr_t *each;
    slurmdb_assoc_rec_t *one;
    int count = 0;

    if (!answer->assoc_list)
        return 0;
    each = slurm_list_iterator_create(answer->assoc_list);
    while (count < size && (one = slurm_list_next(each)))
        found[count++] = one;
    slurm_list_iterator_destroy(each);
    return count;
}

static void sluice_free_answer(will_run_response_msg_t *answer)
{
    slurm_free_will_run_response_msg(answer);
}
"""


def main(output: str) -> None:
    """Write the C source of the module to `output`."""
    ffi = FFI()
    ffi.cdef(CDEF)
    ffi.set_source("_sluice_libslurm", SOURCE)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(sys.argv[1])
