/** What commands find in turns that the user took back is marked so. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

const bash = (command: string, output: string) => ({
  tool: "Bash",
  input: { command },
  output,
  isError: output.startsWith("Exit code"),
})
const edit = (path: string) => ({ tool: "Edit", input: { file_path: path }, output: "ok" })

let machine: Machine
/** Handles: asked first, taken back, in the place of that. */
let first: string
let taken: string
let stands: string

beforeAll(async () => {
  machine = new Inside()
  const session = machine.session()
  session.turn("Does the kite fly?", [bash("make kite", "Exit code 2\nkite: no wind")])
  const tip = session.tip
  session
    .turn("Give the kite a tail.", [
      edit("/src/kite-tail.ts"),
      bash("make kite", "flies"),
      bash("make spool", "Exit code 1\nspool: no thread"),
    ])
    .backTo(tip)
    .turn("Give the kite a wing.", [
      edit("/src/kite-wing.ts"),
      bash("make wing", "done"),
      bash("make spool", "ok"),
    ])
  await machine.hook("stop", session.flush())
  const { turns } = JSON.parse(await text("show", session.session, "--json"))
  ;[first, taken, stands] = turns.map(({ handle }: { handle: string }) => handle)
})
afterAll(() => machine[Symbol.dispose]())

async function text(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args, { env: machine.env, cwd: machine.cwd })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout
}

/** Of what was found, what tells it from the rest: its turn, and how that is marked. */
async function marks<T extends string>(key: T, ...args: string[]): Promise<unknown[][]> {
  const { found } = JSON.parse(await text(...args, "--json")) as {
    found: Record<T | "handle" | "takenBack", unknown>[]
  }
  return found.map((one) => [one[key], one.handle, one.takenBack])
}

/** `files`, `how`, `fix` and `blame` did not say that the user had taken a turn back in which they had found something. */
test("files marks the turn that has most to do with the topic", async () => {
  const found = await marks("path", "files", "kite")
  expect(found).toHaveLength(2)
  expect(found).toContainEqual(["/src/kite-tail.ts", taken, true])
  expect(found).toContainEqual(["/src/kite-wing.ts", stands, undefined])
  expect((await text("files", "kite")).match(/^.*rewound$/gm)).toEqual([
    expect.stringContaining(` in 1 turn · ${taken} · `),
  ])
})

test("how marks the turn of the last run", async () => {
  expect(await marks("command", "how", "make kite")).toContainEqual(["make kite", taken, true])
  expect(await marks("command", "how", "make wing")).toContainEqual(["make wing", stands, undefined])
  expect(await text("how", "make kite")).toMatch(
    /^ +succeeded, 1 of 2 failed · 2 runs · \S+ · .* · rewound$/m,
  )
  expect(await text("how", "make wing")).not.toContain("rewound")
})

test("fix marks the turn of the error, and the one in which it was solved", async () => {
  const solved = async (error: string) => JSON.parse(await text("fix", error, "--json")).found[0]
  const wind = await solved("no wind")
  expect(wind).toMatchObject({ handle: first, solvedIn: taken, solutionTakenBack: true })
  expect(wind).not.toHaveProperty("takenBack")
  const thread = await solved("no thread")
  expect(thread).toMatchObject({ handle: taken, takenBack: true, solvedIn: stands })
  expect(thread).not.toHaveProperty("solutionTakenBack")
  expect(await text("fix", "no wind")).toContain(`  it succeeded in ${taken}, rewound\n`)
  const lines = (await text("fix", "no thread")).split("\n")
  expect(lines[0]).toMatch(/ · rewound · Bash: make spool$/)
  expect(lines).toContain(`  it succeeded in ${stands}`)
})

test("blame marks each turn", async () => {
  const found = await marks("path", "blame", "*.ts")
  expect(found).toHaveLength(2)
  expect(found).toContainEqual(["/src/kite-tail.ts", taken, true])
  expect(found).toContainEqual(["/src/kite-wing.ts", stands, undefined])
  expect((await text("blame", "*.ts")).match(/^.* · rewound · .*$/gm)).toEqual([
    expect.stringMatching(new RegExp(`^${taken} .* · edit · /src/kite-tail\\.ts$`)),
  ])
})
