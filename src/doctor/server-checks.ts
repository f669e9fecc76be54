/** Whether the host starts our MCP server. A server that the user left out or removed is not added back. */
import { oneAtATime } from "../claude/install/install-lock.ts"
import { ourPlugins } from "../claude/install/our-plugins.ts"
import { installServer } from "../claude/install/registration.ts"
import { type ServerStatus, serverStatus } from "../claude/install/server-status.ts"
import { type Finding, finding, type Patient, type Repair } from "./finding.ts"
import { isExecutable, realFile } from "./our-hooks.ts"

export const serverChecks = (patient: Patient): Finding[] =>
  serverStatus(patient, patient.exePath).map((one) => findingOf(patient, one))

function findingOf(patient: Patient, status: ServerStatus): Finding {
  const { scope, command, problem } = status
  const hint = `ctxbridge install --scope ${scope}`
  switch (status.state) {
    case "registered":
      return finding("server", "ok", `${scope}: the MCP server is registered`)
    case "other":
      return ofOther(patient, status, hint)
    case "taken":
      return finding("server", "warn", `${scope}: another MCP server has the name ctxbridge`, {
        hint: "rename it, then ctxbridge install",
      })
    case "absent": {
      const [plugin] = ourPlugins(patient)
      if (plugin !== undefined) return finding("server", "ok", `provided by the plugin ${plugin}`)
      return finding("server", "skipped", "no MCP server is registered: Claude cannot search by itself", {
        hint,
      })
    }
    case "removed":
      return finding("server", "skipped", `${scope}: the MCP server was removed after the install`, {
        hint,
      })
    case "lost":
      return finding(
        "server",
        "warn",
        `${scope}: the MCP server was registered, and is gone from Claude Code's file`,
        {
          hint,
          repair: registered(patient, status),
        },
      )
    case "unknown":
      return finding(
        "server",
        "fail",
        `${scope}: the file that names MCP servers cannot be read: ${problem}`,
        {
          hint: `correct ${status.file}; nothing else of ctxbridge needs it`,
          details: command === null ? [] : [command],
        },
      )
  }
}

function ofOther(patient: Patient, status: ServerStatus, hint: string): Finding {
  const { scope } = status
  const command = status.command ?? ""
  const repair = registered(patient, status)
  if (realFile(command) === undefined || !isExecutable(command)) {
    const text = `${scope}: the MCP server is ${command}, which does not exist or cannot be run`
    return finding("server", "fail", text, { hint, repair })
  }
  if (realFile(command) !== realFile(patient.exePath)) {
    return finding("server", "ok", `${scope}: the MCP server is another binary: ${command}`)
  }
  return finding("server", "warn", `${scope}: the MCP server is not registered the way an install does it`, {
    hint,
    repair,
  })
}

/** Not for a project's file, because others use it too. */
function registered(patient: Patient, { scope }: ServerStatus): Repair | undefined {
  if (scope !== "user") return undefined
  return {
    what: `register the MCP server in the ${scope} settings`,
    run: () =>
      oneAtATime(patient.home, () => {
        installServer({ ...patient, scope })
      }),
  }
}
