"""The REST service (FastAPI); `app.build_rest_app` assembles it from the other modules."""
