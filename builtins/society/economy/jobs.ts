import type { PluginHandle } from '#kernel'
import type { Store } from '#platform/store/contract'
import type { EconomyConfig } from './config.ts'
import { Courses, type Job, Jobs, USABLE } from './contract.ts'
import { jobHolders } from './repository.ts'

/** Built-in jobs; plugins may add more. */
const OWN: readonly Job[] = [
  { id: 'courier', title: 'Courier', salary: 25 },
  { id: 'gardener', title: 'Gardener', salary: 25 },
  { id: 'clerk', title: 'Clerk', salary: 30 },
  { id: 'librarian', title: 'Librarian', salary: 35 },
  { id: 'researcher', title: 'Researcher', salary: 40 },
  { id: 'analyst', title: 'Analyst', salary: 50 },
  { id: 'columnist', title: 'Columnist', salary: 55, skill: 'writing' },
  { id: 'teacher', title: 'Teacher', salary: 60, skill: 'teaching' },
  { id: 'troubleshooter', title: 'Troubleshooter', salary: 65, skill: 'debugging' },
  { id: 'reviewer', title: 'Reviewer', salary: 70, skill: 'code_review' },
  { id: 'forecaster', title: 'Forecaster', salary: 80, skill: 'analysis' },
  { id: 'architect', title: 'Architect', salary: 100, skill: 'architecture' },
]

/** Returns all jobs, built-in ones first. */
export function allJobs(svc: PluginHandle): readonly Job[] {
  const added = svc.list(Jobs)
  return [...OWN.filter(({ id }) => !added.some(job => job.id === id)), ...added]
}

export function jobOf(svc: PluginHandle, job_id: string | null): Job | undefined {
  return job_id === null ? undefined : allJobs(svc).find(({ id }) => id === job_id)
}

/** A course with its price in credits. */
export interface PricedCourse {
  skill: string
  cost: number
}

/** Returns all courses with their prices. */
export function allCourses(svc: PluginHandle, config: EconomyConfig): readonly PricedCourse[] {
  const added = svc.list(Courses).map(({ skill, cost = config.skill_course_cost }) => ({ skill, cost }))
  const own = config.learnable_skills.map(skill => ({ skill, cost: config.skill_course_cost }))
  return [...own.filter(({ skill }) => !added.some(course => course.skill === skill)), ...added]
}

/** Returns whether these skills suffice for a job. */
export function isAble({ skill }: Job, skills: ReadonlyMap<string, number>): boolean {
  return skill === undefined || (skills.get(skill) ?? 0) >= USABLE
}

/** Returns the best-paid free job that pays more than this and suits these skills. */
export async function betterJob(
  svc: PluginHandle,
  store: Store,
  skills: ReadonlyMap<string, number>,
  salary: number,
): Promise<Job | undefined> {
  const taken = new Set((await jobHolders(store)).map(({ job_id }) => job_id))
  return allJobs(svc)
    .filter(job => job.salary > salary && !taken.has(job.id) && isAble(job, skills))
    .sort((a, b) => b.salary - a.salary || a.id.localeCompare(b.id))[0]
}
