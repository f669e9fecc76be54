/** The session's open tasks, stored as JSON in its row. Pure. */
import type { TaskChange, TodoItem as Told } from "../record/agent.ts"

export interface Todo extends Told {
  readonly id?: string
}

export function parseTodos(json: string | null | undefined): Todo[] {
  try {
    const list: unknown = JSON.parse(json ?? "[]")
    return Array.isArray(list) ? (list as Todo[]) : []
  } catch {
    return []
  }
}

/** Id of a task until Claude Code's answer gives it a number. */
const provisional = (call: string): string => `call ${call}`

/**
 * Applies a single change, as newer versions of Claude Code make them.
 *
 * @param call the tool_use_id of the change
 */
export function applyTask(todos: readonly Todo[], call: string, change: TaskChange): Todo[] {
  if (change.id === undefined) {
    if (change.subject === undefined) return [...todos]
    return [...todos, { id: provisional(call), content: change.subject, status: change.status ?? "pending" }]
  }
  if (change.isNew && !todos.some(({ id }) => id === change.id))
    return [
      ...todos,
      { id: change.id, content: change.subject ?? change.id, status: change.status ?? "pending" },
    ]
  return todos.map((todo) =>
    todo.id === change.id
      ? { ...todo, content: change.subject ?? todo.content, status: change.status ?? todo.status }
      : todo,
  )
}

/** Gives the task made by `call` Claude Code's number, unless the task has been read before. */
export const numberTask = (todos: readonly Todo[], call: string, id: string): Todo[] => {
  const made = todos.find((todo) => todo.id === provisional(call))
  const isKnown = todos.some((todo) => todo.id === id && todo.content === made?.content)
  return isKnown
    ? todos.filter((todo) => todo !== made)
    : todos.map((todo) => (todo === made ? { ...todo, id } : todo))
}

export const openTodos = (todos: readonly Todo[]): Todo[] =>
  todos.filter((todo) => !["completed", "cancelled", "deleted"].includes(todo.status))
