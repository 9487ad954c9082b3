/* SPDX-License-Identifier: Apache-2.0
 *
 * slurm_init_job_desc_msg leaves oom_kill_step at 0, which is a wish of its own: it overrides the cluster's
 * TaskPluginParam. sbatch sends "not set", and so does pyslurm with this header (given by -include).
 */
#ifndef SLUICE_SLURM_UNSET_H
#define SLUICE_SLURM_UNSET_H

#include <slurm/slurm.h>

static inline void sluice_init_job_desc_msg(job_desc_msg_t *description)
{
	slurm_init_job_desc_msg(description);
	description->oom_kill_step = NO_VAL16;
}

#define slurm_init_job_desc_msg(description) sluice_init_job_desc_msg(description)

#endif
