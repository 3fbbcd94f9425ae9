# The course in a container, for a machine that is not Linux:
#   docker build -t graded-kernels .
#   docker run --rm -it -p 127.0.0.1:8888:8888 -v graded-kernels:/home/learner/graded-kernels/my-notebooks graded-kernels
# It prints the address to open. Your notebooks are in the volume `graded-kernels` and outlive the container.
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap=0.8.* git=1:2.39.* make=4.3-* \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home learner

WORKDIR /home/learner/graded-kernels
RUN chown 1000:1000 /home/learner/graded-kernels
USER 1000

# Everything but what .dockerignore names; the set-up is that of `make lab`, done once.
COPY --chown=1000:1000 . .
RUN make .venv/.ready && mkdir my-notebooks

EXPOSE 8888
CMD ["make", "lab", "LAB_ARGS=--ip=0.0.0.0 --no-browser"]
