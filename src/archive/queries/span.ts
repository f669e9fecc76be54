/** A project and a time since when, for queries that sum up what happened in them. Pure. */

export interface StatsSpan {
  /** Its id; undefined: every project. */
  readonly project?: number | undefined
  /** ISO 8601 in UTC. */
  readonly since?: string | undefined
}

/** For `$project` and `$since`. */
export const spanValues = ({ project, since }: StatsSpan) => ({
  project: project ?? null,
  since: since ?? null,
})

/** SQL condition on turns `t` and their sessions `s`. */
export const IN_SPAN = `($project IS NULL OR s.project = $project) AND ($since IS NULL OR t.started >= $since)`
