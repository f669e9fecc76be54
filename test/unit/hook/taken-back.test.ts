/** Turns that the user took back: whoever shows one says so, and a compaction does not give it back. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Inside, Peer, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { hitsIn } from "../../support/mcp.ts"
import type { Transcript } from "../../support/transcript.ts"

/** None that the index holds. */
const LONG_WORD = "vermilion".repeat(8)

let machine: Machine
let session: Transcript
/** Handle of the turn that was taken back, and of the one that stands. */
let taken: string
let stands: string

beforeAll(async () => {
  machine = new Inside()
  session = machine.session().turn("Which ship is it?", [], "The Marigold.")
  const first = session.tip
  session.turn("Paint the zeppelin red.", [], `The zeppelin is red: ${LONG_WORD}`).backTo(first)
  await machine.hook("stop", session.turn("Paint the zeppelin blue.", [], "It is blue.").flush())
  const { turns } = await document("show", session.session)
  ;[, taken, stands] = turns.map(({ handle }: { handle: string }) => handle)
})
afterAll(() => machine[Symbol.dispose]())

async function text(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args, { env: machine.env, cwd: machine.cwd })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout
}

// biome-ignore lint/suspicious/noExplicitAny: the documents differ
const document = async (...args: string[]): Promise<any> => JSON.parse(await text(...args, "--json"))

interface Marked {
  readonly handle: string
  readonly takenBack?: true
}

const marks = (turns: readonly Marked[]): [string, boolean | undefined][] =>
  turns.map(({ handle, takenBack }) => [handle, takenBack])

test("show", async () => {
  expect(marks([await document("show", taken), await document("show", stands)])).toEqual([
    [taken, true],
    [stands, undefined],
  ])
  const { turns } = await document("show", session.session)
  expect(marks(turns).slice(1)).toEqual([
    [taken, true],
    [stands, undefined],
  ])
  expect(await text("show", taken)).toContain("· typed · 0 tool calls · rewound\n")
  expect(await text("show", stands)).not.toContain("rewound")
  expect(await text("show", session.session)).toContain("(rewound) Paint the zeppelin red.")
})

test("timeline", async () => {
  const { turns } = await document("timeline", stands)
  expect(marks(turns).slice(1)).toEqual([
    [taken, true],
    [stands, undefined],
  ])
  expect((await text("timeline", stands)).match(/ · rewound$/gm)).toHaveLength(1)
})

test("search, which finds it as before, and in the vault itself", async () => {
  const found = marks((await document("search", "zeppelin")).hits).sort()
  const both = [
    [stands, undefined],
    [taken, true],
  ] as [string, true | undefined][]
  expect(found).toEqual(both.sort())
  const [cold] = (await document("search", "--cold", LONG_WORD)).hits
  expect(cold).toMatchObject({ cold: true, handle: taken, takenBack: true })
  expect((await text("search", "zeppelin")).match(/ · rewound · /g)).toHaveLength(1)
})

test("export", async () => {
  const md = await text("export", session.session)
  expect(md.match(/^`ctx:\w+`(?=, .*, rewound$)/gm)).toEqual([`\`${taken}\``])
  const lines = (await text("export", "--jsonl", session.session)).trimEnd().split("\n")
  const turns = lines.map((line) => JSON.parse(line)).filter(({ type }) => type === "turn")
  expect(marks(turns).slice(1)).toEqual([
    [taken, true],
    [stands, undefined],
  ])
})

test("the server", async () => {
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const searched = hitsIn((await peer.call("search", { query: "zeppelin" })).text)
  expect(searched.map(({ handle }) => handle).sort()).toEqual([taken, stands].sort())
  expect(searched.filter(({ about }) => about.includes("rewound"))).toMatchObject([{ handle: taken }])
  const around = await peer.call("timeline", { of: stands })
  expect(around.text.match(/\(rewound, 0 tool calls\)$/gm)).toHaveLength(1)
  expect((await peer.call("get", { handle: taken })).text).toContain(". The user rewound it. ")
  expect((await peer.call("get", { handle: stands })).text).not.toContain("rewound it")
})

test("what a hook gives back", async () => {
  const ran = await machine.hook("session-start", session, { source: "compact" })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  const given = contextOf(ran)!
  expect(given).toContain("zeppelin blue")
  expect(given).not.toContain("zeppelin red")
  expect(given).not.toContain(taken)
})
