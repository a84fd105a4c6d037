/** Structured runs: the JSON Schema that a task's answer is to fit, and the answer as an object, both as JSON. */
export const structuredTasks = `
ALTER TABLE task_runs ADD COLUMN response_schema TEXT;
ALTER TABLE task_runs ADD COLUMN parsed TEXT;
`
