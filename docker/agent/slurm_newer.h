/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets the unmodified pyslurm 25.11 compile against a newer libslurm.
 *
 * Slurm 26.05 names a job by slurm_step_id_t where 25.11 took its number. Each macro below wraps a
 * number in the id that means "the whole job"; the others bridge a rename and a constant that left.
 * Given to the compiler with -include, only when slurm_version.h says that Slurm is newer than 25.11
 * (docker/agent/build-native). Every call is held by a contract test or not used at all.
 */
#ifndef SLUICE_SLURM_NEWER_H
#define SLUICE_SLURM_NEWER_H

#include <stdint.h>
#include <sys/types.h>
#include <slurm/slurm.h>
#include <slurm/slurmdb.h>
#include <slurm/slurm_errno.h>

static inline slurm_step_id_t sluice_whole_job(uint32_t number)
{
	slurm_step_id_t id = { 0 };

	id.job_id = number;
	id.step_id = NO_VAL;
	id.step_het_comp = NO_VAL;
	return id;
}

static inline int sluice_job_of_pid(pid_t pid, uint32_t *number)
{
	slurm_step_id_t id = sluice_whole_job(0);
	int rc = slurm_pid2jobid(pid, &id);

	*number = id.job_id;
	return rc;
}

/* slurm.h has macros of its own for some of these (they choose by argument type): ours replace them. */
#undef slurm_kill_job
#undef slurm_suspend
#undef slurm_resume
#undef slurm_requeue
#undef slurm_notify_job
#undef slurm_load_job
#undef slurm_get_rem_time
#undef slurm_get_end_time
#undef slurm_job_node_ready
#undef slurm_pid2jobid

#define slurm_kill_job(number, ...) slurm_kill_job(sluice_whole_job(number), __VA_ARGS__)
#define slurm_suspend(number) slurm_suspend(sluice_whole_job(number))
#define slurm_resume(number) slurm_resume(sluice_whole_job(number))
#define slurm_requeue(number, ...) slurm_requeue(sluice_whole_job(number), __VA_ARGS__)
#define slurm_notify_job(number, ...) slurm_notify_job(sluice_whole_job(number), __VA_ARGS__)
#define slurm_load_job(answer, number, ...) slurm_load_job(answer, sluice_whole_job(number), __VA_ARGS__)
#define slurm_get_rem_time(number) slurm_get_rem_time(sluice_whole_job(number))
#define slurm_get_end_time(number, ...) slurm_get_end_time(sluice_whole_job(number), __VA_ARGS__)
#define slurm_job_node_ready(number) slurm_job_node_ready(sluice_whole_job(number))
#define slurm_pid2jobid(pid, number) sluice_job_of_pid(pid, number)

#define slurm_free_ctl_conf(conf) slurm_free_conf(conf)

#ifndef ESLURM_ERROR_ON_DESC_TO_RECORD_COPY
#define ESLURM_ERROR_ON_DESC_TO_RECORD_COPY (-1)
#endif

#endif
