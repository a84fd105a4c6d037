const settings = { disableGoogleFont: true, hideLoading: true, nativeScrollbars: true }
Redoc.init('/openapi.json', settings, document.querySelector('#explorer'))
