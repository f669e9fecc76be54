/** Checks the registration with agents other than Claude Code: those that are here. */
import { AGENTS } from "../../agents/agents.ts"
import { INSTALLABLE_AGENTS, installAgent, isAgentHere } from "../../agents/install/agent-installers.ts"
import { existsSync } from "../../base/fs.ts"
import { oneAtATime } from "../../claude/install/install-lock.ts"
import { type Finding, finding, type Patient } from "./finding.ts"

export async function agentChecks(patient: Patient): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const agent of INSTALLABLE_AGENTS.filter((one) => isAgentHere(one, patient))) {
    const installer = await agent.load()
    const repair = {
      what: `register again with ${agent.title}`,
      run: () => {
        oneAtATime(patient.home, () => installAgent(installer, { places: patient, exePath: patient.exePath }))
      },
    }
    for (const { state, text, isMended, ...more } of await installer.checks(patient, patient.exePath))
      findings.push(
        finding(agent.name, state, `${agent.title}: ${text}`, { ...more, ...(isMended && { repair }) }),
      )
  }
  for (const { name, title, isUntried, transcripts } of AGENTS)
    if (isUntried === true && transcripts(patient).some((folder) => existsSync(folder)))
      findings.push(
        finding(
          name,
          "skipped",
          `${title}: its sessions are read as others describe them; not tried with the program`,
        ),
      )
  return findings
}
