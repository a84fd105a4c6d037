/** The package's entry point: the exports for `import … from 'svc'`. */

export * from './embed/deprecated.ts'
export * from './embed/moved.ts'
export * from './embed/public.ts'
