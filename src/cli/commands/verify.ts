/** `ctxbridge verify`: checks that every byte of every transcript is in the vault. */
import { claudeCode } from "../../agents/claude-code/claude-code.ts"
import { backlog } from "../../archive/behind.ts"
import { forgottenTranscript } from "../../archive/capture-transcript.ts"
import { isExcluded } from "../../archive/excluded.ts"
import { readIfPossible } from "../../archive/open-for-reading.ts"
import { EXIT } from "../../util/errors.ts"
import { verify } from "../../vault/verify-vault.ts"
import { words } from "../args.ts"
import type { Command } from "../command.ts"
import { renderVerify } from "../render-verify.ts"
import { createStyle } from "../style.ts"
import { transcriptsNamed } from "../transcripts-named.ts"

export default {
  meta: { name: "verify", description: "Prove that every byte of every transcript is in the vault" },
  args: {
    path: {
      type: "positional",
      rest: true,
      description: "Transcripts or folders to compare with the vault; by default all of Claude Code's",
      valueHint: "PATH…",
    },
  },
  run({ args, env, out }) {
    const named = words(args)
    const transcripts = transcriptsNamed(named, env, claudeCode.places.transcripts(env.claudeDir))
    const report = verify({
      dataHome: env.dataHome,
      home: env.home,
      transcripts,
      forgotten: (path) => forgottenTranscript(env.dataHome, path),
      excluded: (path) => isExcluded(env, path),
      onProgress: (done, total) => out.progress("verifying", done, total),
    })
    // The vault is sound without them.
    const views = readIfPossible(env.dataHome, (db) => backlog(db).views)
    for (const line of renderVerify(report, views, createStyle(out.color))) out.print(line)
    out.json({ ok: report.ok, transcripts: report.transcripts, totals: report.totals, views: views ?? null })
    return report.ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command
