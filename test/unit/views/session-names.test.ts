/** What sessions are called, and how many turns they have: the same wherever either is told. */
import { expect, test } from "bun:test"
import { findSessions, titlesOf } from "../../../src/views/queries/sessions.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, Peer, run } from "../../support/inside.ts"
import type { Transcript } from "../../support/transcript.ts"

const named = (session: Transcript, type: string, field: string, text: string): Transcript =>
  session.raw(JSON.stringify({ type, [field]: text, sessionId: session.session }))
const renamed = (session: Transcript, text: string) => named(session, "custom-title", "customTitle", text)
const generated = (session: Transcript, text: string) => named(session, "ai-title", "aiTitle", text)
const summed = (session: Transcript, text: string) => named(session, "summary", "summary", text)

const NAMES: readonly (readonly [
  name: string,
  write: (session: Transcript) => void,
  title: string | null,
])[] = [
  [
    "a name, then a generated title",
    (s) => generated(renamed(s, "kiln-rescue"), "Looking at kilns"),
    "kiln-rescue",
  ],
  [
    "a generated title, then a name",
    (s) => renamed(generated(s, "Looking at kilns"), "kiln-rescue"),
    "kiln-rescue",
  ],
  ["both again at every turn", (s) => generated(renamed(generated(renamed(s, "a"), "b"), "a"), "b"), "b"],
  ["the last of two names", (s) => generated(renamed(renamed(s, "first"), "second"), "other"), "second"],
  ["the last of two generated titles", (s) => generated(generated(s, "first"), "second"), "second"],
  ["a summary in old clients", (s) => summed(renamed(s, "kiln-rescue"), "Kilns, summed up"), "kiln-rescue"],
  ["no name at all", () => undefined, null],
]

test.each(NAMES)("%s", (name, write, title) => {
  for (const isInPieces of [false, true]) {
    using archive = new Archive()
    const session = archive.session("s1").turn("look at the kiln")
    write(session)
    if (isInPieces) {
      // Each line indexed by a call of its own, as hooks do it.
      const lines = session.take().split("\n").filter(Boolean)
      for (const line of lines) archive.follow(session.raw(line).flush())
    } else archive.follow(session.flush())
    const wanted = name === "both again at every turn" ? "a" : title
    expect(findSessions(archive.db, "s1")[0]!.title).toBe(wanted)
  }
})

const COMMAND = (name: string, args = ""): string =>
  `<command-message>${name} is running…</command-message>\n<command-name>/${name}</command-name>` +
  (args === "" ? "" : `\n<command-args>${args}</command-args>`)

const FIRST: readonly (readonly [name: string, write: (session: Transcript) => void, prompt: string])[] = [
  [
    "a command with an answer",
    (s) => s.turn(COMMAND("deploy", "staging eu-west")),
    "/deploy staging eu-west",
  ],
  ["a command, then a prompt", (s) => s.turn(COMMAND("deploy")).turn("and now?"), "/deploy"],
  ["one that has no answer yet", (s) => s.user(COMMAND("deploy", "eu")), "/deploy eu"],
  [
    "one that only Claude Code executes",
    (s) => s.user(COMMAND("model")).turn("fire the kiln"),
    "fire the kiln",
  ],
  ["nothing but such", (s) => s.user(COMMAND("model")).user(COMMAND("clear")), "/model"],
  ["a prompt, then a command", (s) => s.turn("fire the kiln").turn(COMMAND("deploy")), "fire the kiln"],
  ["a command of the shell", (s) => s.turn("<bash-input>make kiln</bash-input>"), "make kiln"],
]

test.each(FIRST)("without a title, a session is called by what began it: %s", (_name, write, prompt) => {
  using archive = new Archive()
  const session = archive.session("s1")
  write(session)
  archive.follow(session.flush())
  expect(findSessions(archive.db, "s1")[0]!.firstPrompt).toBe(prompt)
  expect(titlesOf(archive.db, ["s1"]).get("s1")).toBe(prompt)
})

test("a session begun with a command is listed by it, found by its words, and its summary says so", async () => {
  using machine = new Inside()
  const session = machine.session().turn(COMMAND("deploy", "staging eu-west")).flush()
  await machine.hook("stop", session)
  const json = async (...words: string[]) => JSON.parse((await run([...words, "--json"], machine)).stdout)
  expect((await json("sessions", "-a", "--grep", "eu-west")).sessions).toMatchObject([
    { firstPrompt: "/deploy staging eu-west" },
  ])
  expect((await json("show", session.session)).summary.request).toBe("/deploy staging eu-west")
  const { code, stdout } = await run(["sessions", "-a"], machine)
  expect(code).toBe(0)
  expect(stdout).toContain("/deploy staging eu-west")
})

/** A session, one forked from it after its second turn, and a subagent. */
async function withFork(machine: Inside): Promise<{ origin: string; fork: string; untouched: string }> {
  const origin = machine.session().turn("first").turn("second")
  const shared = origin.text
  await machine.hook("stop", origin.flush())
  const copied = (id: string): Transcript => {
    const fork = machine.session({ id })
    for (const line of shared.trim().split("\n")) fork.raw(line.replaceAll(origin.session, fork.session))
    return fork.backTo(origin.tip)
  }
  await machine.hook("stop", origin.turn("third").flush())
  const fork = copied("f0e51011-0000-4000-8000-000000000001").turn("another way").flush()
  await machine.hook("stop", fork)
  const untouched = copied("f0e51011-0000-4000-8000-000000000002").flush()
  await machine.hook("stop", untouched)
  return { origin: origin.session, fork: fork.session, untouched: untouched.session }
}

test("a fork has the turns of its conversation, and every turn of the archive counts once", async () => {
  using machine = new Inside()
  const { origin, fork, untouched } = await withFork(machine)
  const json = async (...words: string[]) => JSON.parse((await run([...words, "--json"], machine)).stdout)
  const { sessions } = await json("sessions", "-a")
  const counted = Object.fromEntries(
    sessions.map((one: Record<string, unknown>) => [one["id"], [one["turns"], one["shared"]]]),
  )
  expect(counted).toEqual({ [origin]: [3, 0], [fork]: [3, 2], [untouched]: [2, 2] })
  const all = 4
  expect(
    sessions.reduce(
      (sum: number, { turns, shared }: { turns: number; shared: number }) => sum + turns - shared,
      0,
    ),
  ).toBe(all)
  const status = await json("status")
  expect(status.totals.turns).toBe(all)
  expect(status.embedding.turns).toBe(all)
  expect((await json("stats")).turns).toBe(all)
  const shown = await json("show", untouched)
  expect(shown.session).toMatchObject({ turns: 2, shared: 2, firstPrompt: "first" })
  expect(
    [shown.shared, shown.turns].map((some) => some.map(({ prompt }: { prompt: string }) => prompt)),
  ).toEqual([["first", "second"], []])
  const { stdout } = await run(["show", fork], machine)
  expect(stdout).toContain("3 turns (2 shared)")
  expect(stdout.match(/\(shared\) /g)).toHaveLength(2)
  const page = await run(["export", fork, "--html"], machine)
  expect(page.stdout).toContain("3 turns (2 shared)")
  expect(page.stdout.match(/<section class="turn /g)).toHaveLength(3)
  const server = await Peer.connect(machine.cwd, machine.env)
  expect((await server.call("status")).text).toContain(`3 sessions, ${all} turns, `)
})

test("what no human began is no turn, in any of the counts", async () => {
  using machine = new Inside()
  const session = machine.session()
  session.message().say("Before any prompt.").turn("the only one").flush()
  await machine.hook("stop", session)
  const json = async (...words: string[]) => JSON.parse((await run([...words, "--json"], machine)).stdout)
  const [listed] = (await json("sessions", "-a")).sessions
  const status = await json("status")
  expect([listed.turns, status.totals.turns, status.embedding.turns]).toEqual([1, 1, 1])
  const imported = await run(["import"], machine)
  expect(imported.stdout).toContain("Turns in the archive: 1 before, 1 now")
  const rebuilt = await run(["rebuild"], machine)
  expect(rebuilt.stdout).toMatch(/\b1 turn and /)
})
