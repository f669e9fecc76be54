/** `ctxbridge demo`: plays a session with a compaction and shows what comes back. Touches nothing of the user's. */

import { EXIT } from "../../base/errors.ts"
import { join } from "../../base/path.ts"
import { endProcessesIn, newFolder, type TemporaryFolder, temporaryFolder } from "../../base/temporary.ts"
import { bytes, count, shellWord } from "../../base/text.ts"
import { type Command, flag } from "../command.ts"
import { type DemoReport, runDemo } from "../demo/play-demo.ts"
import { createStyle, type Style, safe } from "../style.ts"

export default {
  meta: {
    name: "demo",
    description: "Try it on a made-up session, apart from your archive",
  },
  args: {
    keep: flag("Keep the demo's folder, and say where it is"),
    quiet: flag("Print one line", "q"),
  },
  async run({ args, out }) {
    const keep = args["keep"] === true
    using temporary = keep ? kept() : temporaryFolder("demo", endProcessesIn)
    const folder = temporary.path
    const report = await runDemo(folder)
    out.print(args["quiet"] === true ? inShort(report) : render(report, createStyle(out.color)))
    if (keep) out.print(`Kept: ${folder}\nLook around: ${lookAround(folder)}`)
    out.json({ ...report, folder: keep ? folder : null })
    return report.ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

/** A folder that is never removed. */
const kept = (): TemporaryFolder => ({
  path: newFolder("ctxbridge-demo-"),
  [Symbol.dispose]() {},
})

/** Opens a shell in the demo's project, with its own home folder, or `verify` would look for the user's transcripts. */
const lookAround = (folder: string): string => {
  const [project, home, archive] = [join(folder, "linkbox"), folder, join(folder, "archive")].map(shellWord)
  return `cd ${project} && HOME=${home} CTXBRIDGE_HOME=${archive} sh`
}

function inShort({ ok, totals, checks }: DemoReport): string[] {
  if (ok) return [`demo: ${count(totals.turns, "turn")} archived, restored after a compaction`]
  return checks.filter((check) => !check.ok).map(({ name }) => `demo: failed: ${safe(name)}`)
}

function render(report: DemoReport, style: Style): string[] {
  const { totals, verify, hooks, checks } = report
  const times = hooks.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const median = times[times.length >> 1] ?? 0
  const lines = [
    style.bold("A synthetic session of Claude Code, played through the real hooks"),
    `${count(totals.turns, "turn")} of ${report.prompts} archived: ${count(totals.messages, "message")}, ` +
      `${count(totals.toolCalls, "tool call")}, ${count(totals.errors, "error")}`,
    `verify: ${verify.totals.archivedBytes} of ${verify.totals.bytes} bytes in ${count(verify.totals.frames, "frame")}, ` +
      (verify.ok ? "each checked against its SHA-256" : "DAMAGED"),
    "",
    style.bold(`What the compaction was asked to keep (${report.instructions.length} characters)`),
    ...indented(report.instructions, style),
    "",
    style.bold(`What was restored after it (${report.restored.length} characters)`),
    ...indented(report.restored, style),
    "",
    style.bold("Checked"),
    ...checks.map(({ name, ok }) => (ok ? style.green(`  ok      ${name}`) : style.red(`  MISSING ${name}`))),
    "",
    `${count(hooks.length, "hook call")}, median ${median.toFixed(0)} ms each with the start of its process; ` +
      `${report.ms.toFixed(0)} ms in all; ${bytes(report.transcriptBytes)} of transcript`,
  ]
  return lines
}

const indented = (text: string, style: Style): string[] =>
  safe(text)
    .split("\n")
    .map((line) => style.dim(`  ${line}`))
