/** The targets of commands and of the server: the one that is named, or those that the user's variables name. */
import { backendNamed, type Target, type TargetWorld } from "../backends/open-target.ts"
import { serverVariables, targetWishes } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { type BackendName, type ChosenTarget, chooseTargets } from "./choose-target.ts"
import { writerName } from "./writer-name.ts"

type Here = Pick<TargetWorld, "cwd" | "home" | "dataHome">

export interface ConfiguredTarget extends Target, Pick<ChosenTarget, "why"> {}

export const targetNamed = (named: string, { cwd, home, dataHome }: Here): Target =>
  backendNamed(named, {
    cwd,
    home,
    dataHome,
    variables: serverVariables(),
    agentdb: targetWishes().agentdb,
    writer: () => writerName(dataHome),
  })

/** The best first; none if nothing is configured. */
export const configuredTargets = (config: Config, here: Here): ConfiguredTarget[] =>
  chooseTargets(config["sync.backend"] as BackendName, targetWishes()).map(({ named, why }) => ({
    ...targetNamed(named, here),
    why,
  }))
