/** How the model of a task answers, as JSON; null where the task says nothing of it. */
export const taskParameters = 'ALTER TABLE task_runs ADD COLUMN parameters TEXT;'
