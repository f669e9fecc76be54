/** The installed version of Claude Code, and what it can do for us. */

import { closeSync } from "node:fs"
import {
  abilitiesOf,
  calledByName,
  isTried,
  lackingIn,
  OLDEST_TRIED,
  versionIn,
} from "../claude/install/clients.ts"
import type { TranscriptFile } from "../job/find-transcripts.ts"
import { tryTo } from "../util/files.ts"
import { output } from "../util/run-child.ts"
import { readExactly } from "../vault/copy-file.ts"
import { openSource } from "../vault/source-file.ts"
import { type Finding, finding, type Patient } from "./finding.ts"
import { inventoryOf } from "./inventory.ts"

/** Bytes at the end of a transcript to search for a version. Most lines have one. */
const TAIL = 1 << 16

export async function hostCheck(patient: Patient): Promise<Finding> {
  const command = calledByName()
  const said = command === undefined ? undefined : await output([command, "--version"])
  const installed = versionIn(said)
  const version = installed ?? writtenBy(patient)
  if (version === undefined) {
    return finding("claude", "skipped", "no `claude` on PATH, and no transcript that names a version")
  }
  const where = installed === undefined ? "wrote the latest transcript" : `is ${command}`
  const text = `Claude Code ${version} ${where}`
  if (!isTried(version)) {
    return finding("claude", "warn", `${text}; versions older than ${OLDEST_TRIED} are untested`, {
      hint: "update Claude Code",
    })
  }
  const lacking = lackingIn(version)
  return finding("claude", "ok", text, {
    details: [
      `supports: ${abilitiesOf(version).join("; ")}`,
      ...(lacking.length > 0 ? [`lacks: ${lacking.join("; ")}`] : []),
    ],
  })
}

/** The version in the most recently written transcript. */
function writtenBy(patient: Patient): string | undefined {
  const all = inventoryOf(patient).transcripts()
  const latest = all.reduce<TranscriptFile | undefined>(
    (last, one) => (last === undefined || one.changed > last.changed ? one : last),
    undefined,
  )
  // Another check reports a file that cannot be read.
  const source = latest && tryTo(() => openSource(latest.path))
  if (source === undefined) return undefined
  try {
    const from = Math.max(0, source.stats.size - TAIL)
    const text = Buffer.from(readExactly(source.fd, from, TAIL)).toString("latin1")
    return [...text.matchAll(/"version"\s*:\s*"(\d+\.\d+\.\d+)"/g)].at(-1)?.[1]
  } finally {
    closeSync(source.fd)
  }
}
