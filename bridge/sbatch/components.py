"""One component after another: main() and process_options_second_pass() of src/sbatch.

A job has one component unless ``#SBATCH hetjob`` in the script or ``:`` among the arguments begins another.
Each is read anew from its part of the script, the variables and its part of the arguments, on top of what
the ones before it left: only the options of `options.OF_ONE_COMPONENT` are forgotten. When one side has
fewer parts than the other, the last part of the arguments holds again, and the script says nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from bridge.job import JobSpec
from bridge.sbatch import attachments, build, layout
from bridge.sbatch.context import Origin, SubmitContext
from bridge.sbatch.draft import Draft
from bridge.sbatch.environment import Surroundings
from bridge.sbatch.refusal import BAD_OPTION, Refusal, Unsupported
from bridge.sbatch.say import Speaker
from bridge.sbatch.scan import OLD_SEPARATOR, OLD_WORD, Directives, Word, directives

LARGEST: Final = 128
"""Components of one job (MAX_HET_JOB_COMPONENTS of slurm.h)."""
SEPARATOR: Final = ":"


class Components:
    """Reads a request component by component.

    Parameters
    ----------
    script
        The whole script.
    words
        The arguments, separators included.
    variables
        The caller's variables.
    context
        Who submits, from where, when.
    speaker
        Has said what counts early.
    """

    def __init__(
        self,
        script: bytes,
        words: Sequence[Word],
        variables: Mapping[str, str],
        *,
        context: SubmitContext,
        speaker: Speaker,
    ) -> None:
        self._script = script
        self._words = words
        self._variables = variables
        self._context = context
        self._speaker = speaker
        # Looked for once: a script may be long, and a job may have many components.
        wrapped = speaker.draft.wrap is not None
        self._has_foreign = not wrapped and (b"#PBS" in script or b"#BSUB" in script)
        self._file = (context.file_name or "stdin").rpartition("/")[2]
        self._surroundings = Surroundings(context)
        self.origins: list[Mapping[str, Origin]] = []
        """Of each component that was read, where what it says came from."""

    def specs(self, argv: tuple[str, ...]) -> tuple[JobSpec, ...]:
        """Return the components; the first one has the script.

        Raises
        ------
        Refusal
            In sbatch's words, of the first component at fault.
        """
        parts = [Directives((), False)] if self._speaker.draft.wrap is not None else directives(self._script)
        if max(len(parts), 1 + sum(word.text == SEPARATOR for word in self._words)) > LARGEST:
            raise Unsupported("hetjob", f"a heterogeneous job has at most {LARGEST} components here")
        found: list[JobSpec] = []
        more = True
        while more:
            index = len(found)
            self._speaker.draft.next_component()
            self._read_script(parts[index] if index < len(parts) else Directives((), parts[-1].old_word))
            more = self._read_rest() or index + 1 < len(parts)
            group = index if index or more else None
            found.append(self._component(argv, group))
        return (replace(found[0], environment=self._surroundings.complete()), *found[1:])

    def _read_script(self, part: Directives) -> None:
        draft = self._speaker.draft
        words = part.words(self._file)
        draft.warnings += [OLD_WORD] * part.old_word
        if part.old_separator and OLD_SEPARATOR not in draft.warnings:
            draft.warnings.append(OLD_SEPARATOR)
        end = self._speaker.getopt.read(words, self._speaker.directive)
        if end < len(words):
            word = self._speaker.at = words[end]
            raise Refusal(
                f"sbatch: error: Invalid directive found in batch script: {word.text}", exit_code=BAD_OPTION
            )
        if self._has_foreign:
            self._speaker.foreign(self._script, self._file)
        self._speaker.at = None

    def _read_rest(self) -> bool:
        """Say the variables and this component's arguments; return whether the arguments have more."""
        self._speaker.variables(self._variables)
        end = self._speaker.getopt.read(self._words, self._speaker.argument)
        self._speaker.at = None  # what is refused from here on is what was said, wherever
        more = end < len(self._words) and self._words[end].text == SEPARATOR
        if more:
            self._words = self._words[end + 1 :]
        if self._variables.get("SLURM_HOSTFILE") and self._speaker.draft.nodelist is None:
            raise Unsupported("nodelist", "SLURM_HOSTFILE names a file, which can't be read here")
        return more

    def _component(self, argv: tuple[str, ...], group: int | None) -> JobSpec:
        draft: Draft = self._speaker.draft
        hint = layout.settle(draft)
        if hint is not None:
            # sbatch puts it into its own environment, where it finds it again for the next component.
            self._variables = {**self._variables, "SLURM_HINT": hint}
        spec = build.build(
            draft,
            self._context,
            script=b"" if group else attachments.with_burst_buffer(self._script, draft),
            argv=argv,
            environment=lambda nodes: self._surroundings.component(draft, hint=hint, nodes=nodes),
        )
        self._surroundings.tell_leader(draft, group)
        self.origins.append({key: origin for key, origin in draft.origins.items() if key in draft.said})
        return spec
