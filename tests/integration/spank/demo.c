/* A SPANK plugin with options as pyxis has them: with a value, without, with one that may be left out. */
#include <stddef.h>
#include <slurm/spank.h>

SPANK_PLUGIN(demo, 1);

static int take(int value, const char *text, int remote)
{
	(void) value; (void) text; (void) remote;
	return 0;
}

static struct spank_option options[] = {
	{"demo-image", "IMAGE", "image to run in", 1, 0, take},
	{"demo-quick", NULL, "a flag", 0, 0, take},
	{"demo-level", "N", "a value that may be left out", 2, 0, take},
};

/* sbatch knows only what is registered here. */
int slurm_spank_init(spank_t job, int count, char **words)
{
	(void) count; (void) words;
	for (size_t at = 0; at < sizeof(options) / sizeof(options[0]); at++)
		if (spank_option_register(job, &options[at]) != ESPANK_SUCCESS)
			return -1;
	return 0;
}
