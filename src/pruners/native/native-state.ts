/** Whether a program can have old results cleared by the API, and whether it has. Pure. */

import type { Installed } from "../../claude/install/installed-clients.ts"
import type { HostEnvironment, HostValue } from "../../claude/settings/read-settings.ts"
import { atLeast, CLEARS_FROM } from "../../claude/versions.ts"
import type { WayState } from "../way.ts"
import { clearsResults } from "./request-edits.ts"

/** With these, Claude Code does not ask for the beta, or talks to an API that does not know it. */
const AGAINST: Readonly<Record<string, string>> = {
  CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: "keeps Claude Code from asking for the beta that it needs",
  CLAUDE_CODE_USE_BEDROCK: "sends requests to an API that may refuse it",
  CLAUDE_CODE_USE_VERTEX: "sends requests to an API that may refuse it",
  CLAUDE_CODE_USE_FOUNDRY: "sends requests to an API that may refuse it",
}

export function nativeWay({ version }: Installed, environment: HostEnvironment): WayState {
  const unsupported = whyNot(version, environment)
  const [first] = environment.extraBody
  const ours = environment.extraBody.find(({ value }) => clearsResults(value))
  const isActive = ours !== undefined && ours === first
  return {
    way: "native",
    ...(unsupported === undefined ? {} : { unsupported }),
    isActive,
    ...(ours === undefined
      ? {}
      : { detail: isActive ? setIn(ours) : `${setIn(ours)}, but ${hiddenBy(first!)}` }),
  }
}

const placeOf = ({ from }: HostValue): string =>
  from === "environment" ? "the environment" : `the ${from} settings`

const setIn = (value: HostValue): string => `set in ${placeOf(value)}`

const hiddenBy = (value: HostValue): string =>
  `${placeOf(value)} set CLAUDE_CODE_EXTRA_BODY to something else, and come first`

function whyNot(version: string | undefined, { names }: HostEnvironment): string | undefined {
  if (version === undefined) return "its version is not known"
  if (!atLeast(version, CLEARS_FROM))
    return `${version} does not ask for the API's beta in all its requests; ${CLEARS_FROM.join(".")} and later do`
  const [name] = Object.keys(AGAINST).filter((one) => names.has(one))
  return name && `${name} is set, which ${AGAINST[name]}`
}
