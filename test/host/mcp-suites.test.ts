/** The protocol's own tools on the compiled server: its inspector, and its conformance suite. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { SERVER_TOOLS } from "../../src/cli/server/server.ts"
import { Machine } from "../support/machine.ts"
import { fromNpm } from "./from-npm.ts"
import { Bridge } from "./mcp-bridge.ts"
import { binaryUnderTest } from "./world.ts"

setDefaultTimeout(240_000)

const INSPECTOR = "@modelcontextprotocol/inspector"
/** The first line of releases that knows protocol 2026-07-28. */
const CONFORMANCE = "@modelcontextprotocol/conformance"
const VERSIONS = { [INSPECTOR]: "2.12.0", [CONFORMANCE]: "0.2.0-alpha.12" }

let machine: Machine
beforeAll(async () => {
  machine = new Machine()
  const session = machine.session().turn("Paint the shed", [], "In heliotrope.").flush()
  await machine.hook("stop", session)
})
afterAll(() => machine[Symbol.dispose]())

async function program(name: keyof typeof VERSIONS, script: string) {
  const spec = `${name}@${VERSIONS[name]}`
  const found = await fromNpm(spec, spec.split("/")[1]!)
  if ("missing" in found) console.warn(`skipped: ${spec}: ${found.missing}`)
  return "missing" in found ? undefined : join(found.modules, name, script)
}

/** Run by Bun, since they want a newer Node than ours. */
async function runBun(args: readonly string[]) {
  // Nothing of the user's: the inspector would look for a keychain.
  const env = { PATH: process.env["PATH"] ?? "", ...machine.env, MCP_INSPECTOR_SECRET_STORE: "memory" }
  const child = Bun.spawn([process.execPath, ...args], {
    env,
    cwd: machine.root,
    stdout: "pipe",
    stderr: "pipe",
  })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, stdout, stderr }
}

const inspector = await program(INSPECTOR, "clients/launcher/build/index.js")

describe.skipIf(inspector === undefined)("the inspector", () => {
  const inspect = async (...args: string[]) => {
    const config = join(machine.root, "servers.json")
    const server = {
      type: "stdio",
      command: binaryUnderTest(),
      args: ["mcp"],
      env: machine.env,
      cwd: machine.cwd,
    }
    writeFileSync(config, JSON.stringify({ mcpServers: { ctxbridge: server } }))
    const common = ["--cli", "--config", config, "--server", "ctxbridge", "--format", "json", "--quiet"]
    const { code, stdout, stderr } = await runBun([inspector!, ...common, ...args])
    return { code, stderr, result: JSON.parse(stdout || "{}").result }
  }

  for (const era of ["legacy", "modern", "auto"]) {
    test(`finds no fault with the tools' schemas, and calls one (${era})`, async () => {
      const listed = await inspect("--protocol-era", era, "--method", "tools/list", "--strict")
      expect(listed).toMatchObject({ code: 0, stderr: "" })
      expect(listed.result.tools.map(({ name }: { name: string }) => name)).toEqual(
        SERVER_TOOLS.map(({ name }) => name),
      )
      const called = await inspect(
        ...["--protocol-era", era, "--method", "tools/call"],
        ...["--tool-name", "search", "--tool-arg", "query=heliotrope"],
      )
      expect(called).toMatchObject({ code: 0, stderr: "", result: { isError: false } })
      expect(called.result.content[0].text).toContain("In heliotrope.")
    })
  }
})

const NO_RESOURCES = "we have tools, and neither prompts nor resources"
const NO_HTTP = "headers of HTTP, which we do not speak"
const NO_TEST_TOOL = "wants a tool made for the suite"
const NO_STREAM =
  "the bridge has no streams; and our list of tools never changes, so there is nothing to subscribe to"

/** Scenarios that apply to a server with tools, and of each the checks that do not, with the reason. */
const SCENARIOS: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
  "2025-11-25": { "server-initialize": {}, ping: {}, "tools-list": {}, "tools-call-error": {} },
  "2026-07-28": {
    "tools-list": {},
    "tools-call-error": {},
    "input-required-result-unsupported-methods": {},
    caching: {
      "sep-2549-prompts-list-caching-hints": NO_RESOURCES,
      "sep-2549-resources-list-caching-hints": NO_RESOURCES,
      "sep-2549-resources-templates-list-caching-hints": NO_RESOURCES,
    },
    "server-stateless": {
      "sep-2575-http-server-header-mismatch-400": NO_HTTP,
      "sep-2575-server-rejects-undeclared-capability": NO_TEST_TOOL,
      "sep-2575-missing-capability-http-400": NO_TEST_TOOL,
      "sep-2575-server-sends-subscription-ack": NO_STREAM,
      "sep-2575-server-tags-subscription-id": NO_STREAM,
      "sep-2575-server-honors-notification-filter": NO_STREAM,
    },
  },
}

/** The rest, by the beginning of its name. */
const NOT_APPLICABLE: Readonly<Record<string, string>> = {
  "tools-call-": NO_TEST_TOOL,
  "json-schema-": NO_TEST_TOOL,
  "input-required-result-": NO_TEST_TOOL,
  "elicitation-": NO_TEST_TOOL,
  "resources-": NO_RESOURCES,
  "sep-2164-resource-": NO_RESOURCES,
  "sep-2640-skills-": NO_RESOURCES,
  "prompts-": NO_RESOURCES,
  "completion-": NO_RESOURCES,
  "logging-": "we declare no logging",
  "tasks-": "we declare no tasks",
  "http-": NO_HTTP,
  "dns-rebinding-": NO_HTTP,
  "server-sse-": NO_HTTP,
  "server-session-lifecycle": NO_HTTP,
}

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

const conformance = await program(CONFORMANCE, "dist/index.js")

describe.skipIf(conformance === undefined)("the conformance suite", () => {
  let bridge: Bridge
  beforeAll(() => {
    bridge = new Bridge({ PATH: process.env["PATH"] ?? "", ...machine.env }, machine.cwd)
  })
  afterAll(() => bridge[Symbol.asyncDispose]())

  for (const [revision, scenarios] of Object.entries(SCENARIOS)) {
    for (const [scenario, excepted] of Object.entries(scenarios)) {
      test(`${scenario} (${revision})`, async () => {
        let checks: Check[] = []
        let failed: Check[] = []
        const isUnexpected = ({ id }: Check): boolean => !(id in excepted)
        // It waits for an answer by clocks of its own, which a busy machine may miss.
        for (let n = 0; n === 0 || (n < 3 && failed.some(isUnexpected)); n++) {
          const folder = mkdtempSync(join(machine.root, "checks-"))
          const options = ["--scenario", scenario, "--spec-version", revision, "--output-dir", folder]
          await runBun([conformance!, "server", "--url", bridge.url, ...options])
          const [results] = readdirSync(folder)
          checks = JSON.parse(readFileSync(join(folder, results!, "checks.json"), "utf8"))
          failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING")
        }
        expect(failed.filter(isUnexpected)).toEqual([])
        // A check that has come to pass is to be taken off the list.
        expect([...new Set(failed.map(({ id }) => id))].sort()).toEqual(Object.keys(excepted).sort())
        expect(checks.some(({ status }) => status === "SUCCESS")).toBe(true)
      })
    }
  }

  test("every scenario for servers applies, or there is a reason why not", async () => {
    const { stdout } = await runBun([conformance!, "list"])
    const [, servers = ""] = /^Server scenarios[^\n]*\n([\s\S]*?)\n\n/m.exec(stdout) ?? []
    const names = [...servers.matchAll(/^ +- (\S+)/gm)].map(([, name]) => name!)
    expect(names.length).toBeGreaterThan(30)
    const applicable = new Set(Object.values(SCENARIOS).flatMap(Object.keys))
    const reasoned = (name: string): boolean =>
      Object.keys(NOT_APPLICABLE).some((begin) => name.startsWith(begin))
    expect(names.filter((name) => !applicable.has(name) && !reasoned(name))).toEqual([])
  })
})
