/** `ctxbridge __prune`, which a patched Claude Code starts at a prompt: a question on stdin, the answer on stdout. */
import { loadSettings } from "../../config/load.ts"
import { answerHost } from "../../util/write-output.ts"
import { pruneOptions } from "../prune-options.ts"
import { vaultAnswers } from "../vault-answers.ts"
import { answerPatch, type PatchQuestion } from "./answer-patch.ts"

export async function runPruneAnswer(): Promise<void> {
  process.umask(0o077)
  try {
    const question = (await Bun.stdin.json()) as PatchQuestion
    const { paths, resolved } = loadSettings()
    const options = { ...pruneOptions(resolved.config), results: false } as const
    const held = vaultAnswers(paths.dataHome, question.session)
    answerHost(JSON.stringify(answerPatch(question, held, options)))
  } catch {
    // There is nobody to tell; without an answer, nothing more is pruned.
    process.exitCode = 1
  }
}
