import { afterAll, describe, expect, test } from "bun:test"
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { FILTERED, type SecretSettings } from "../../../src/secrets/filter.ts"
import { RULES_NUMBER } from "../../../src/secrets/rules.ts"
import { type CaptureRequest, capture, captureTranscript } from "../../../src/vault/capture.ts"
import { checkCopy, withTranscript } from "../../../src/vault/check-copy.ts"
import { openLocked } from "../../../src/vault/copy-file.ts"
import { dueKnown, isDue, knownOf, refreshDue, settleKnown } from "../../../src/vault/known-values.ts"
import { knownFile, vaultFile, vaultPath } from "../../../src/vault/layout.ts"
import { setAsideIfDifferent } from "../../../src/vault/mend-copy.ts"
import { mergeFramesOf } from "../../../src/vault/merge-frames.ts"
import { tailOf } from "../../../src/vault/reader.ts"
import { needsRedaction, redactCopy } from "../../../src/vault/redact-copy.ts"
import { contentOf } from "../../support/machine.ts"
import { Noise, TOKENS } from "../../support/planted.ts"
import { tempFolder } from "../../support/temp.ts"

/** Taking a transcript while Claude Code writes it, and other processes take it. */
describe("capture", () => {
  /**
   * A hook that had looked at the transcript's length waited for the copy, while another one archived what Claude Code
   * had added since: a copy that was longer than the transcript seemed to be that of a rewritten one, and was begun
   * anew.
   */
  test("a transcript that has grown, and been archived, since it was opened", () => {
    using folder = tempFolder()
    const transcript = join(folder.path, "session.jsonl")
    const copy = join(folder.path, "vault", "session.jsonl.zst")
    const request = {
      transcript,
      copy,
      now: 1,
      deadline: Number.MAX_SAFE_INTEGER,
      lastLine: "whole",
    } as const
    appendFileSync(transcript, '{"n":1}\n')
    let asked = 0
    // Asked between the look at the transcript and the lock of the copy.
    const forgotten = (): undefined => {
      if (asked++ > 0) return
      appendFileSync(transcript, '{"n":2}\n')
      expect(capture(request)).toMatchObject({ state: "current", archived: 16 })
    }
    const captured = capture({ ...request, forgotten })
    expect(captured).toMatchObject({
      state: "current",
      archived: 16,
      size: 16,
      taken: 0,
      superseded: undefined,
    })
    expect(readdirSync(dirname(copy))).toEqual([basename(copy)])
  })

  /**
   * A hook that waited for the copy went on reading the file that it had opened, though Claude Code had put another in
   * its place and that was archived by then: the copy seemed to be that of a rewritten transcript, and went aside for
   * what was gone. And what was read of a transcript that was written anew at that moment stood behind what it had been
   * before.
   */
  describe("a transcript that is replaced while a hook waits", () => {
    const requestIn = (folder: string) =>
      ({
        transcript: join(folder, "session.jsonl"),
        copy: join(folder, "vault", "session.jsonl.zst"),
        now: 1,
        deadline: Number.MAX_SAFE_INTEGER,
        lastLine: "whole",
      }) satisfies CaptureRequest

    /** As many lines as make several frames. */
    const lines = (word: string): string =>
      Array.from({ length: 20_000 }, (_, n) => `{"n":${n},"said":"${word}"}\n`).join("")

    function replace(path: string, text: string): void {
      writeFileSync(`${path}.new`, text)
      renameSync(`${path}.new`, path)
    }

    test("another file has taken the transcript's place since it was opened", () => {
      using folder = tempFolder()
      const request = requestIn(folder.path)
      writeFileSync(request.transcript, '{"n":1}\n')
      let asked = 0
      // Asked between the look at the transcript and the lock of the copy.
      const forgotten = (): undefined => {
        if (asked++ > 0) return
        replace(request.transcript, '{"other":1}\n')
        expect(capture(request)).toMatchObject({ state: "current", archived: 12 })
      }
      const captured = capture({ ...request, forgotten })
      expect(captured).toMatchObject({ state: "current", archived: 12, size: 12, superseded: undefined })
      expect(readdirSync(dirname(request.copy))).toEqual([basename(request.copy)])
      expect(contentOf(request.copy).toString()).toBe('{"other":1}\n')
    })

    test("another file takes its place while the new copy has nothing but a header", () => {
      using folder = tempFolder()
      const request = requestIn(folder.path)
      writeFileSync(request.transcript, '{"n":1}\n')
      // What another hook has begun, and not written yet.
      closeSync(
        openLocked(request.copy, { path: request.transcript, created: 1 }, Number.MAX_SAFE_INTEGER)!.fd,
      )
      let asked = 0
      const forgotten = (): undefined => {
        if (asked++ === 0) replace(request.transcript, '{"other":1}\n')
      }
      expect(capture({ ...request, forgotten })).toMatchObject({ archived: 12, superseded: undefined })
      expect(readdirSync(dirname(request.copy))).toEqual([basename(request.copy)])
      expect(contentOf(request.copy).toString()).toBe('{"other":1}\n')
    })

    test("written anew, in place, between two frames", () => {
      using folder = tempFolder()
      const request = requestIn(folder.path)
      writeFileSync(request.transcript, lines("one"))
      const after = lines("two")
      let chunks = 0
      const first = capture({
        ...request,
        onChunk: () => {
          if (chunks++ === 0) writeFileSync(request.transcript, after)
        },
      })
      expect(first.state).toBe("behind")
      expect(lines("one").startsWith(contentOf(request.copy).toString())).toBe(true)
      const second = capture(request)
      expect(second).toMatchObject({ state: "current", archived: after.length })
      expect(contentOf(second.superseded!).length).toBe(first.archived)
      expect(contentOf(request.copy).equals(readFileSync(request.transcript))).toBe(true)
    })

    test("a piece for the spool, of a transcript that does not continue the copy any more, begins with it", () => {
      using folder = tempFolder()
      const request = requestIn(folder.path)
      writeFileSync(request.transcript, '{"n":1}\n')
      let asked = 0
      const forgotten = (): undefined => {
        // Each time that a piece is begun: it went on for ever.
        if (asked++ > 10) throw new Error("begun too often")
      }
      const from = { id: "copy", base: { to: 4, tailHash: "0", hidden: 0 } }
      expect(capture({ ...request, from, forgotten })).toMatchObject({ state: "current", archived: 8 })
      expect(contentOf(request.copy).toString()).toBe('{"n":1}\n')
      expect(readdirSync(dirname(request.copy))).toEqual([basename(request.copy)])
    })
  })
})

/** Filtered copies: what they are compared with, and what their notes say. */
describe("secrets", () => {
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
    mergeFramesOf(where.copy)
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
})

/** Where a session's values are, when that is believed, and when the job has to search for them again. */
describe("known", () => {
  const SESSION = "5e551011-0000-4000-8000-000000000001"
  const VALUE = "zebra-Kafe71-quilt"
  const line = (text: string): string => `${JSON.stringify({ type: "user", message: { content: text } })}\n`

  function archiveIn(root: string) {
    const place = { dataHome: join(root, "data"), home: join(root, "home"), secrets: FILTERED }
    const path = join(place.home, ".claude", "projects", "p", `${SESSION}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    const hook = (known: typeof knownOf | "ask" = knownOf) =>
      captureTranscript(place, path, { now: 1, deadline: Number.MAX_SAFE_INTEGER, lastLine: "whole", known })
        .captured
    const values = (): string[] => [...knownOf(place, SESSION, path).known.keys()]
    return { place, path, hook, values, file: knownFile(place.dataHome, SESSION) }
  }

  test("only places are kept, and the values are read there", () => {
    using folder = tempFolder()
    const { path, hook, values, file } = archiveIn(folder.path)
    writeFileSync(path, line(`DB_PASSWORD=${VALUE}`))
    expect(hook()).toMatchObject({ state: "current" })
    expect(values()).toEqual([VALUE])
    const [{ spans }] = [JSON.parse(readFileSync(file, "utf8")) as { spans: [number, number][] }]
    expect(spans.map(([from, to]) => readFileSync(path, "latin1").slice(from, to))).toEqual([VALUE])
    expect(readFileSync(file, "utf8")).not.toContain(VALUE)
  })

  test("places in a transcript that was rewritten are not believed", () => {
    using folder = tempFolder()
    const { path, hook, values } = archiveIn(folder.path)
    writeFileSync(path, line(`DB_PASSWORD=${VALUE}`))
    hook()
    writeFileSync(path, line("something long enough, but altogether different from it"))
    expect(values()).toEqual([])
    hook()
    expect(values()).toEqual([])
  })

  test("whoever asks stops before the lines with a value, and has taken those before", () => {
    using folder = tempFolder()
    const { place, path, hook } = archiveIn(folder.path)
    writeFileSync(path, line("first"))
    expect(hook("ask")).toMatchObject({ state: "current" })
    appendFileSync(path, line(`${VALUE} DB_PASSWORD=${VALUE}`))
    expect(hook("ask")).toMatchObject({ state: "recognised", taken: 0, archived: line("first").length })
    hook()
    const content = contentOf(vaultFile(place.dataHome, vaultPath(path, place.home))).toString()
    expect(content).toBe(readFileSync(path, "utf8").replaceAll(VALUE, "*".repeat(VALUE.length)))
  })

  test("the job searches once for what is new, and again for what came without it", () => {
    using folder = tempFolder()
    const { place, path, hook, file } = archiveIn(folder.path)
    expect(dueKnown(place.dataHome)).toEqual([])
    writeFileSync(path, line(`DB_PASSWORD=${VALUE}`))
    hook()
    const [due] = dueKnown(place.dataHome)
    expect(due).toMatchObject({ file, paths: [path] })
    settleKnown(due!)
    expect(isDue(file)).toBe(false)
    appendFileSync(path, line(`again DB_PASSWORD=${VALUE}`))
    hook()
    refreshDue(file, due!.size)
    expect(isDue(file)).toBe(false)
    refreshDue(file, 0)
    expect(isDue(file)).toBe(true)
    expect(dueKnown(place.dataHome)[0]?.paths).toEqual([path])
  })
})
