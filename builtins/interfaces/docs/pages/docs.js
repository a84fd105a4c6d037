// The key is typed under "Authorize" and forgotten with the page; X-Svc-User is a field of each operation.
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#explorer',
  deepLinking: true,
  docExpansion: 'list',
  displayRequestDuration: true,
  persistAuthorization: false,
  // Otherwise a badge is asked of another site.
  validatorUrl: null,
})
