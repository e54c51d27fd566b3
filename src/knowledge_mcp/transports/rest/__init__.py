"""The REST service (FastAPI): `app.build_rest_app` puts together what the other modules describe."""
