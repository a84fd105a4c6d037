import { describe, expect, it } from 'vitest'
import { issuesOf, z } from '#kernel'
import { plainMessage, usePlainIssues } from '#lib/plain-issues'

const says = (schema: z.ZodType, value: unknown) => {
  const { error } = schema.safeParse(value, { error: issue => plainMessage(issue) })
  return issuesOf(error!).map(({ path, message }) => (path ? `${path} ${message}` : message))
}

describe('messages for invalid values', () => {
  it.each<[message: string, schema: z.ZodType, value: unknown]>([
    ['colour is missing', z.object({ colour: z.string() }), {}],
    ['colour must be a string, not a number', z.object({ colour: z.string() }), { colour: 4 }],
    ['colour must be a string, not an array', z.object({ colour: z.string() }), { colour: ['red'] }],
    ['n must be a whole number', z.object({ n: z.number().int() }), { n: 1.5 }],
    ['n must be a number, not null', z.object({ n: z.number() }), { n: null }],
    ['must be true or false, not a string', z.boolean(), 'yes'],
    ['must be a string, not true', z.string(), true],
    ['must be an object, not an array', z.object({}), []],
    ['must be an object, not a number', z.record(z.string(), z.string()), 4],
    ['must be one of low, high', z.enum(['low', 'high']), 'hgh'],
    ['effort is missing; it must be one of low, high', z.object({ effort: z.enum(['low', 'high']) }), {}],
    ['must be yes', z.literal('yes'), 'no'],
    ['must be at least 1', z.number().min(1), 0],
    ['must be more than 0', z.number().gt(0), 0],
    ['must be at most 3', z.number().max(3), 4],
    ['must have at least 3 characters', z.string().min(3), 'ab'],
    ['must have at most 1 item', z.array(z.string()).max(1), ['a', 'b']],
    ['must be a URL', z.url(), 'nowhere'],
    ['must match the pattern /^a/', z.string().regex(/^a/), 'b'],
    ['must be a string or a number, not true', z.union([z.string(), z.number()]), true],
    ['matches none of the allowed forms', z.union([z.string(), z.object({ a: z.string() })]), {}],
    ['must be a multiple of 5', z.number().multipleOf(5), 6],
  ])('%s', (message, schema, value) => {
    expect(says(schema, value)).toEqual([message])
  })

  it("a schema's own message is kept", () => {
    expect(says(z.string('is no colour'), 4)).toEqual(['is no colour'])
  })
})

describe("zod's default messages", () => {
  it('are the plain ones, unless the program has chosen a language', () => {
    const before = z.config().localeError!
    try {
      z.config({ localeError: () => 'ist falsch' })
      usePlainIssues()
      expect(z.string().safeParse(4).error!.issues[0]!.message).toBe('ist falsch')
      z.config(z.locales.en())
      usePlainIssues()
      expect(z.string().safeParse(4).error!.issues[0]!.message).toBe('must be a string, not a number')
    } finally {
      z.config({ localeError: before })
    }
  })
})
