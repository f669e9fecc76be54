/** What a restore says about opening a handle works where the model reads it. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary, run } from "../support/binary.ts"
import { frameProblems } from "../support/frame.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** The restores after a compaction and after `/clear`, and the pointers of two starts: rendered, and beforehand. */
async function given(machine: Machine): Promise<string[]> {
  const session = machine.session().turn("Paint the shed", [], "In heliotrope.").flush()
  await machine.hook("stop", session)
  const pointers = [
    await machine.hook("session-start", machine.session(), { source: "startup" }),
    await machine.hook("session-start", machine.session(), { source: "startup" }),
  ]
  await machine.hook("pre-compact", session, { trigger: "manual" })
  const compacted = await machine.hook("session-start", session, { source: "compact" })
  await machine.hook("session-end", session, { reason: "clear" })
  const cleared = await machine.hook("session-start", machine.session(), { source: "clear" })
  const texts = [...pointers, compacted, cleared].map((ran) => contextOf(ran)!)
  for (const text of texts) expect(frameProblems(text)).toEqual([])
  expect(texts[1]).toBe(texts[0]!)
  return texts
}

const handleIn = (text: string): string => /ctx:[0-9a-z]+(?= "Paint)/.exec(text)![0]

/** `ctxbridge` alone failed with 127: the folder of the binary is not on the PATH of Claude Code's shell. */
test("without our server it names the binary by its path, which a shell can run", async () => {
  using machine = new Machine()
  const folder = join(machine.root, "it's a folder")
  mkdirSync(folder)
  const copy = join(folder, "ctxbridge")
  copyFileSync(binary(), copy)
  const session = machine.session().turn("Paint the shed", [], "In heliotrope.").flush()
  const hook = async (event: string, fields: object) => {
    const stdin = machine.payload(event as "stop", session, { ...fields })
    const child = Bun.spawn([copy, "hook", event], {
      cwd: machine.cwd,
      env: { PATH: "/usr/bin:/bin", ...machine.env },
      stdin: Buffer.from(stdin),
      stdout: "pipe",
    })
    return { stdout: await new Response(child.stdout).text(), code: await child.exited, stderr: "", ms: 0 }
  }
  await hook("stop", {})
  const text = contextOf(await hook("session-start", { source: "compact" }))!
  expect(frameProblems(text)).toEqual([])
  const command = /`([^`]+ show ctx:<handle>)` opens one/
    .exec(text)![1]!
    .replace("ctx:<handle>", handleIn(text))
  const shell = Bun.spawnSync(["/bin/sh", "-c", command], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin", ...machine.env },
  })
  expect({ code: shell.exitCode, stderr: shell.stderr.toString() }).toEqual({ code: 0, stderr: "" })
  expect(shell.stdout.toString()).toContain("In heliotrope.")
})

test("every restore and pointer names the path, and the tool once our server is installed", async () => {
  using machine = new Machine()
  for (const text of await given(machine)) expect(text).toContain(`\`${binary()} show ctx:<handle>\` opens `)
  const options = { cwd: machine.cwd, env: machine.env }
  expect(await run(["install"], options)).toMatchObject({ code: 0, stderr: "" })
  const texts = await given(machine)
  for (const text of texts) {
    expect(text).toMatch(/[Tt]he tool `mcp__ctxbridge__get` opens (one|a turn) by its handle/)
    expect(text).not.toContain(binary())
  }
  await using peer = await Peer.connect(machine.cwd, machine.env)
  expect((await peer.call("get", { handle: handleIn(texts[2]!) })).text).toContain("In heliotrope.")
  // Pointers that were rendered before name what is there no longer.
  expect(await run(["uninstall"], options)).toMatchObject({ code: 0, stderr: "" })
  for (const text of await given(machine)) expect(text).toContain(`\`${binary()} show ctx:<handle>\` opens `)
})

/** As `claude mcp remove ctxbridge` leaves it, of which we are not told: pointers named the tool until the next indexing. */
test("a start after the server was taken out of Claude Code's own file names the path", async () => {
  using machine = new Machine()
  const options = { cwd: machine.cwd, env: machine.env }
  expect(await run(["install"], options)).toMatchObject({ code: 0, stderr: "" })
  const session = machine.session().turn("Paint the shed", [], "In heliotrope.").flush()
  await machine.hook("stop", session)
  const start = async () =>
    contextOf(await machine.hook("session-start", machine.session(), { source: "startup" }))!
  expect(await start()).toContain("mcp__ctxbridge__get")
  expect(await start()).toContain("mcp__ctxbridge__get")
  const file = join(machine.home, ".claude.json")
  const { mcpServers, ...rest } = JSON.parse(readFileSync(file, "utf8"))
  expect(mcpServers).toHaveProperty("ctxbridge")
  writeFileSync(file, JSON.stringify({ ...rest, mcpServers: {} }))
  for (let n = 0; n < 2; n++) {
    const text = await start()
    expect(text).toContain(`\`${binary()} show ctx:<handle>\` opens `)
    expect(text).not.toContain("mcp__ctxbridge__get")
  }
})
