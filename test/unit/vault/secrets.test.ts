/** Filtered copies: what they are compared with, and what their notes say. */
import { afterAll, expect, test } from "bun:test"
import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { FILTERED, type SecretSettings } from "../../../src/secrets/filter.ts"
import { RULES_NUMBER } from "../../../src/secrets/rules.ts"
import { capture } from "../../../src/vault/capture.ts"
import { checkCopy, withTranscript } from "../../../src/vault/check-copy.ts"
import { compactCopy } from "../../../src/vault/compact-vault.ts"
import { setAsideIfDifferent } from "../../../src/vault/mend-copy.ts"
import { tailOf } from "../../../src/vault/reader.ts"
import { needsRedaction, redactCopy } from "../../../src/vault/redact-copy.ts"
import { contentOf } from "../../support/machine.ts"
import { Noise, TOKENS } from "../../support/planted.ts"

const root = mkdtempSync(join(tmpdir(), "ctxbridge-secrets-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const OFF: SecretSettings = { enabled: false, patterns: [] }
let runs = 0

function place() {
  const name = String(runs++)
  return { transcript: join(root, `${name}.jsonl`), copy: join(root, `${name}.jsonl.zst`) }
}

const take = (where: ReturnType<typeof place>, secrets: SecretSettings = FILTERED) =>
  capture({ ...where, now: 1, deadline: Number.MAX_SAFE_INTEGER, lastLine: "whole", secrets })

const secretLine = (seed: number): string =>
  `${JSON.stringify({ text: `use ${TOKENS[0]!.secret(new Noise(seed))} now` })}\n`

const check = ({ transcript, copy }: ReturnType<typeof place>) =>
  withTranscript(transcript, (source) => checkCopy(copy, source))

test("the host moves a file with secrets: it is still the same", () => {
  const where = place()
  writeFileSync(where.transcript, secretLine(1))
  take(where)
  expect(contentOf(where.copy).toString()).toContain("use ********")
  const moved = `${where.transcript}.new`
  copyFileSync(where.transcript, moved)
  appendFileSync(moved, secretLine(2))
  renameSync(moved, where.transcript)
  expect(take(where)).toMatchObject({ state: "current", superseded: undefined })
  expect(setAsideIfDifferent(where.transcript, where.copy, 1)).toBeUndefined()
  expect(check(where)).toMatchObject({ damage: [], differsAt: undefined, unfiltered: 0 })
})

test("a change beside a secret is found", () => {
  const where = place()
  writeFileSync(where.transcript, secretLine(1))
  take(where)
  const text = readFileSync(where.transcript, "utf8")
  writeFileSync(where.transcript, text.replace("use", "USE"))
  expect(check(where)?.differsAt).toBe(text.indexOf("use"))
})

test("notes: unfiltered frames are counted, stay so when they are merged, and are filtered by redact", () => {
  const where = place()
  writeFileSync(where.transcript, secretLine(1))
  take(where, OFF)
  appendFileSync(where.transcript, secretLine(2))
  take(where)
  expect(check(where)).toMatchObject({ frames: 2, unfiltered: 1, olderRules: 0, differsAt: undefined })
  compactCopy(where.copy)
  expect(check(where)).toMatchObject({ frames: 1, unfiltered: 1, damage: [] })
  expect(needsRedaction(where.copy)).toBe(true)

  const options = { secrets: FILTERED, rescan: false }
  expect(redactCopy(where.copy, { ...options, dryRun: true })).toBe(20)
  expect(contentOf(where.copy).toString()).toContain(secretLine(1))
  expect(redactCopy(where.copy, { ...options, dryRun: false })).toBe(20)
  expect(contentOf(where.copy).toString()).not.toContain(secretLine(1))
  expect(tailOf(where.copy)?.last).toMatchObject({ rules: RULES_NUMBER, hidden: 0 })
  expect(check(where)).toMatchObject({ unfiltered: 0, damage: [], differsAt: undefined })
  expect(redactCopy(where.copy, { ...options, dryRun: false })).toBeUndefined()
  expect(redactCopy(where.copy, { ...options, rescan: true, dryRun: false })).toBe(0)
})

test("what a <private> hides goes on with the next frame, also after redact", () => {
  for (const first of [FILTERED, OFF]) {
    const where = place()
    writeFileSync(where.transcript, '{"text":"a <private>b"}\n')
    take(where, first)
    appendFileSync(where.transcript, '{"text":"c"}\n{"text":"d</private> e"}\n')
    take(where, first)
    redactCopy(where.copy, { secrets: FILTERED, rescan: false, dryRun: false })
    expect(contentOf(where.copy).toString()).toBe(
      '{"text":"a <private>*"}\n{"text":"*"}\n{"text":"*</private> e"}\n',
    )
  }
})
