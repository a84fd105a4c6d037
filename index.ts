export * from '#kernel'
