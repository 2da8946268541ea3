# docker build -t troubadour . && docker run --rm -v "$PWD/logs:/logs:ro" troubadour gate .
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md ./
COPY sql_semantics sql_semantics
COPY troubadour troubadour
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[report]" && rm -r /wheels \
    && useradd --create-home auditor
USER auditor
WORKDIR /logs
ENTRYPOINT ["troubadour"]
CMD ["--help"]
