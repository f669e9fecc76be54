/** A decision in a session of few turns was given back twice: as a decision, and as what was said on the way of its turn. */
import { expect, test } from "bun:test"
import { contextOf, Machine } from "../support/machine.ts"

test("what stands among the decisions is not told again among the turns", async () => {
  using machine = new Machine()
  const decision =
    "I decided on a token bucket instead of a fixed window, because a window lets bursts through."
  const finding = "The sixth request passes because the bucket is filled before it is asked for a token."
  const session = machine.session().user("Limit the requests").message().say(finding).message().say(decision)
  session.step({ tool: "Read", input: { file_path: "/src/limit.ts" }, output: "…" })
  await machine.hook("stop", session.say("The limiter is in place.").flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given.split(decision)).toHaveLength(2)
  expect(given).toContain(`## Decisions\n- "${decision}"`)
  expect(given).toContain(`"${finding}", said on the way`)
})
